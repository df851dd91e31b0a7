#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tandem check` and `tandem simulate` from outside: exit codes, texts, files.

Usage: check_test.py TANDEM [unittest arguments]
"""

import json
import re
import shlex
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import program  # noqa: E402
from program import OPERATORS, ProgramCase, tandem  # noqa: E402


class SimulatedMachine(ProgramCase):
    # Checks.

    def test_sound_operators_are_checked_with_exit_0(self):
        for operator in OPERATORS:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "check.json")
                done = tandem("check", operator, "-R", 3, "--tiles", 3, "--json", path)
                self.expect(done, 0)
                self.assertEqual(done.stdout.splitlines()[-1],
                                 "sound (all schedules of this input)")
                report = json.loads(path.read_text())
            self.assertEqual(report["verdict"], "sound")
            self.assertEqual(report["findings"], [])
            self.assertTrue(report["confluent"])
            self.assertEqual((report["launches"], report["rounds"]), (2, 3))
            self.assertGreater(report["operations"], 0)

    def test_findings_give_exit_4_and_say_where(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "check.json")
            done = tandem("check", "all-gather-matmul", "-R", 3, "--barrier", "single-slot",
                          "--json", path)
            self.expect(done, 4)
            report = json.loads(path.read_text())
        self.assertIn("BARRIER-MERGED", done.stdout)
        self.assertRegex(done.stdout, r"\n  fix: ")
        self.assertRegex(done.stdout, r"\nsmallest: tandem check all-gather-matmul -R \d")
        self.assertIn("any job's arrival", report["notes"][0])
        first = report["findings"][0]
        self.assertEqual(set(first), {"code", "object", "count", "sides", "detail"})
        self.assertLess({"rank", "core", "pipe", "verb", "file", "line"}, set(first["sides"][0]))
        again = tandem(*shlex.split(report["reproduce"])[1:], "--no-shrink")
        self.expect(again, 4)
        self.assertIn(first["code"] + " " + first["object"], again.stdout)

    def test_a_schedule_is_run_again_by_its_token(self):
        shape = ("-R", 2, "-m", 4, "-n", 16, "-k", 64, "--tiles", 2)
        for token in ("canonical", "random:7", "pct:3:500:9", "starve:kind=cube", "turns"):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "check.json")
                done = tandem("check", "matmul-all-gather", *shape, "--replay", token,
                              "--json", path)
                self.expect(done, 0)
                self.assertEqual(json.loads(path.read_text())["schedule"], token)

    def test_errors_of_the_original_design_are_variants(self):
        listed = tandem("list", "variants").stdout.splitlines()
        names = [line.split()[0] for line in listed if line.startswith("upstream:")]
        self.assertEqual(names, ["upstream:" + name for name in
                                 "A1 A2 A3 A4 A5 A6 A7 A8 A9 B2 B4".split()])
        operators = {line.split()[0]: line.split()[-1] for line in listed}
        for name in names:
            done = tandem("check", operators[name], "--variant", name, "--no-shrink")
            self.expect(done, 4)
            sound = re.search(r"reproduce: tandem (.*)", done.stdout).group(1)
            sound = sound.replace(" --variant " + name, "")
            self.expect(tandem(*shlex.split(sound)), 0)
        # Also by the mutant's name, and planted in another case than its own.
        self.expect(tandem("check", "--mutant", "upstream:A8", "--no-shrink"), 4)
        done = tandem("check", "all-to-all-matmul", "-R", 4, "--blocks", 4, "-m", 8, "-n", 512,
                      "-k", 256, "--tiles", 2, "--variant", "upstream:A8", "--no-shrink")
        self.expect(done, 4)
        self.assertIn("FLAG-RESIDUE", done.stdout)
        done = tandem("check", "all-gather-matmul", "--variant", "upstream:A5")
        self.expect(done, 2, "upstream:A5: all-gather-matmul has no such form")

    def test_bad_words_of_a_check_are_refused_together(self):
        done = tandem("check", "all-gather-matmul", "-R", "x", "--strategy", "luck",
                      "--queue-depth", 0, "--launches", "-1", "--variant", "shared-cores",
                      "--mutant", "Z99", "--replay", "sideways", "--device", "toaster")
        self.expect(done, 2, "-R,--ranks is 'x'", "--strategy is 'luck'; use canonical|random",
                    "--queue-depth is 0", "--launches is -1", "shared-cores: all-gather-matmul",
                    "'Z99' is unknown", "token 'sideways'", "device toaster")
        self.expect(tandem("check", "dance", "--strategy", "luck", "--replay", "x"), 2,
                    "'dance' is unknown", "--strategy is 'luck'", "token 'x'")
        self.expect(tandem("check"), 2, "no operator is named")
        self.expect(tandem("check", "--variant", "upstream:Z9"), 2, "'upstream:Z9' is unknown")
        done = tandem("check", "all-gather-matmul", "--variant", "upstream:A1", "--mutant", "A01")
        self.expect(done, 2, "planted error: both variant upstream:A1")
        for line in done.stderr.splitlines():
            self.assertRegex(line, r"^[^:]+: .+; .+")

    # Predictions.

    def test_a_prediction_has_numbers_and_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = {name: Path(folder, name) for name in ("json", "trace", "html")}
            files = [word for name, path in paths.items() for word in ("--" + name, path)]
            shape = ("matmul-reduce-scatter", "-R", 4, "-m", 4096, "-n", 1024, "-k", 512)
            done = tandem("simulate", *shape, "--sweep-tiles", *files)
            self.expect(done, 0)
            again = tandem("simulate", *shape, "--sweep-tiles")
            report = json.loads(paths["json"].read_text())
            trace = json.loads(paths["trace"].read_text())
            self.assertIn("<svg", paths["html"].read_text())
        self.assertEqual(done.stdout, again.stdout)
        self.assertIn("guesses", done.stdout)
        self.assertGreater(report["time_ps"], 0)
        self.assertGreater(len(trace["traceEvents"]), 100)

    def test_a_prediction_follows_costs_and_stragglers(self):
        shape = ("all-gather-matmul", "-R", 4, "-m", 1024, "-n", 1024, "-k", 1024)

        def makespan(*arguments):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "simulation.json")
                self.expect(tandem("simulate", *shape, *arguments, "--json", path), 0)
                return json.loads(path.read_text())["time_ps"] / 1e6

        usual = makespan()
        self.assertGreater(makespan("--scale", "link_mb_s=0.1"), usual)
        late = makespan("--straggler", "1:50")
        self.assertTrue(usual <= late <= usual + 50.1, (usual, late))

    def test_bad_words_of_a_prediction_are_refused_together(self):
        done = tandem("simulate", "all-gather-matmul", "-R", 2, "-m", 64, "-n", 64, "-k", 64,
                      "--scale", "warp=2", "--straggler", "9:1")
        self.expect(done, 2, "cost warp is unknown", "straggler is rank 9")
        done = tandem("simulate", "all-gather-matmul", "--scale", "fast", "--straggler", "soon",
                      "--dtype-c", "int8")
        self.expect(done, 2, "--scale is 'fast'", "--straggler is 'soon'", "--dtype-c is 'int8'")
        self.expect(tandem("simulate", "all-gather-matmul", "--device", "toaster"), 2, "toaster")

    def test_this_machine_is_measured_and_its_predictions_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "machine.json")
            done = tandem("selftest", "--calibrate", "--out", path, "--fit", "--launches", 1)
            self.expect(done, 0)
            device = json.loads(path.read_text())
            costs = [key for key, source in device["sources"].items()
                     if key.startswith("costs.") and source.startswith("measured: ")]
            self.assertGreater(len(costs), 20)
            for key in costs:
                self.assertIn(f"\n{key.removeprefix('costs.')} ", done.stdout)
            self.assertIn("24 problems", done.stdout.splitlines()[-1])
            predicted = tandem("simulate", "all-gather-matmul", "-R", 2, "--device", path)
            self.expect(predicted, 0)
        self.expect(tandem("selftest", "--fit", "--device", "ascend950pr"), 2,
                    "device ascend950pr: it has cores of its own; use host")
        self.expect(tandem("selftest", "--out", "x.json"), 2, "--calibrate")
        self.expect(tandem("selftest", "--calibrate", "--mutants"), 2, "--mutants")
        self.expect(tandem("selftest", "--fit", "--launches", "0"), 2, "0 not in range 1 to 10000")

    def test_unknown_names_of_a_check_are_refused_with_the_other_reasons(self):
        done = tandem("check", "all-gather-matmul", "--variant", "upstream:Z9", "--mutant", "none",
                      "--replay", "zz")
        self.expect(done, 2, "upstream:Z9", "mutant none are asked for", "'none'", "zz")


if __name__ == "__main__":
    program.main()
