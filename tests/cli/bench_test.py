#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tandem bench` from outside: arms, flushes, lists, pictures.

Usage: bench_test.py TANDEM [unittest arguments]
"""

import json
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import program  # noqa: E402
from program import OPERATORS, SMALL, ProgramCase, tandem  # noqa: E402

ARMS = ("fused", "serial", "compute", "comm")


class Benchmarks(ProgramCase):
    def test_every_arm_is_timed_and_every_launch_flushed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bench.json"
            run = tandem("bench", "all", "-R", 2, *SMALL, "--arms", ",".join(ARMS),
                         "--launches", 3, "--json", path)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertTrue(run.stdout.endswith("PASS 4/4\n"), run.stdout)
            report = json.loads(path.read_text())
        self.assertEqual([case["operator"] for case in report["cases"]], list(OPERATORS))
        for case in report["cases"]:
            self.assertEqual([arm["arm"] for arm in case["arms"]], list(ARMS))
            for arm in case["arms"]:
                self.assertEqual((arm["launches"], arm["flushes"]), (3, 3))
                self.assertGreater(arm["seconds"], 0)

    def test_a_gate_runs_each_row_on_two_and_on_four_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "gate.csv"
            rows = ("matmul-all-gather,16,64,24", "all-gather-matmul,8,64,9")
            path.write_text("operator,m,k,n\n" + "\n".join(rows) + "\n")
            json_path = Path(folder) / "gate.json"
            run = tandem("bench", "--gate", path, "--arms", "fused,serial", "--launches", 1,
                         "--warm", "--json", json_path)
            self.assertEqual(run.returncode, 0, run.stderr)
            cases = json.loads(json_path.read_text())["cases"]
        self.assertEqual([(case["ranks"], case["n"]) for case in cases],
                         [(2, 24), (2, 9), (4, 24), (4, 9)])

    def test_a_sweep_has_a_picture(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "sweep.html"
            run = tandem("bench", "matmul-all-gather", "-R", 2, "-m", 32, "-n", 24, "-k", 64,
                         "--arms", "fused,compute,comm", "--launches", 1, "--sweep-tiles",
                         "--html", page)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("PASS 2/2", run.stdout)
            self.assertIn("<polyline", page.read_text())

    def test_all_reasons_against_a_benchmark_come_at_once(self):
        run = tandem("bench", "matmul-all-gather", "--gate", "no.csv", "-m", 3, "--arms", "fast",
                     "--pin", "maybe", "--seconds", "long", "--sweep-tiles")
        self.assertEqual(run.returncode, 2)
        for part in ("beside --gate", "'fast'", "'maybe'", "'long'", "--sweep-tiles", "no.csv"):
            self.assertIn(part, run.stderr)


if __name__ == "__main__":
    program.main()
