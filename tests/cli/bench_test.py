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

    def test_over_a_link_the_arms_are_timed_and_what_is_left_out_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bench.json"
            run = tandem("bench", "all", "-R", 2, *SMALL, "--transport", "tcp", "--launches", 2,
                         "--compute", "sleep", "--warm", "--tiles", 4, "--json", path)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertTrue(run.stdout.endswith("PASS 4/4\n"), run.stdout)
            for part in ("over tcp", "products sleep, at", "no baseline", "compute nothing",
                         "cannot hide: "):
                self.assertIn(part, run.stdout)
            report = json.loads(path.read_text())
        self.assertEqual(report["machine"]["transport"], "tcp")
        for case in report["cases"]:
            self.assertEqual([arm["arm"] for arm in case["arms"]], list(ARMS))
            self.assertEqual((case["transport"], case["compute"]), ("tcp", "sleep"))
            self.assertGreater(case["sleep_gflops"], 0)
            self.assertGreater(case["checked_elements"], 0)
            self.assertGreater(case["ideal_masking_degree"], 0)
            self.assertTrue(case["cannot_hide"])
            self.assertIn("--compute sleep", case["reproduce"])

    def test_ranks_started_one_by_one_run_all_cases_in_one_world_and_the_first_speaks(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bench.json"
            words = ["bench", "all", *SMALL, "--arms", "fused,serial", "--launches", "2",
                     "--size", "2", "--root", f"127.0.0.1:{program.free_port()}"]
            ranks = program.start_all([[*words, "--rank", "0", "--json", path],
                                       [*words, "--rank", "1"]])
            self.assertEqual([rank.returncode for rank in ranks], [0, 0], ranks)
            self.assertTrue(ranks[0].stdout.endswith("PASS 4/4\n"), ranks[0].stdout)
            self.assertEqual(ranks[1].stdout, "")
            cases = json.loads(path.read_text())["cases"]
        self.assertEqual([case["operator"] for case in cases], list(OPERATORS))

    def test_ranks_started_one_by_one_refuse_bad_values_alike(self):
        words = ["bench", "all-gather-matmul", "--arms", "baseline", "--compute", "sleep",
                 "--sleep-gflops", "0", "--pin", "maybe", "--size", "2", "--root", "nowhere"]
        for rank in program.start_all([[*words, "--rank", "0"], [*words, "--rank", "1"]]):
            self.expect(rank, 2, "'maybe'", "the root is 'nowhere'", "cannot sleep",
                        "shared memory", "--sleep-gflops is 0")

    def test_all_reasons_against_a_benchmark_come_at_once(self):
        run = tandem("bench", "matmul-all-gather", "--gate", "no.csv", "-m", 3, "--arms", "fast",
                     "--pin", "maybe", "--seconds", "long", "--sweep-tiles", "--compute", "nap",
                     "--sleep-gflops", "fast", "--rank", 1)
        self.assertEqual(run.returncode, 2)
        for part in ("beside --gate", "'fast'", "'maybe'", "'long'", "--sweep-tiles", "no.csv",
                     "'nap'", "--sleep-gflops is 'fast'", "--rank and --size"):
            self.assertIn(part, run.stderr)


if __name__ == "__main__":
    program.main()
