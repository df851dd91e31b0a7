#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line from outside: exit codes, texts, files.

Usage: cli_test.py TANDEM [unittest arguments]
"""

import json
import re
import struct
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
import program  # noqa: E402
from program import OPERATORS, SMALL, SOURCE, ProgramCase, tandem  # noqa: E402


def write_npy(path, rows):
    """A list of rows as FP32, version 1."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header += " " * (-(11 + len(header)) % 64) + "\n"
    values = [value for row in rows for value in row]
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}f", *values))


def read_npy(path):
    """Type and rows of a file that tandem wrote."""
    data = Path(path).read_bytes()
    (size,) = struct.unpack("<H", data[8:10])
    header = data[10 : 10 + size].decode()
    kind = re.search(r"'descr': '([^']+)'", header).group(1)
    rows, columns = map(int, re.search(r"'shape': \((\d+), (\d+)\)", header).groups())
    code = {"<f4": "f", "<f2": "e"}[kind]
    values = struct.unpack(f"<{rows * columns}{code}", data[10 + size :])
    return kind, [list(values[i * columns : (i + 1) * columns]) for i in range(rows)]


def integers(rows, columns, seed):
    """1 to 7, different in neighbours: exact in every format, as are their sums."""
    return [[float((i * 5 + j * 3 + i * j + seed) % 7 + 1) for j in range(columns)]
            for i in range(rows)]


def product(a, b):
    return [[sum(x * b[k][j] for k, x in enumerate(row)) for j in range(len(b[0]))] for row in a]


def turned(matrix):
    return [list(column) for column in zip(*matrix)]


class CommandLine(ProgramCase):
    def expect_pass(self, done, count):
        self.expect(done, 0)
        self.assertEqual(done.stdout.splitlines()[-1], f"PASS {count}/{count}", done.stdout)
        self.assertEqual(done.stderr, "")

    # What there is.

    def test_version_help_and_lists_exit_with_0(self):
        self.assertRegex(tandem("--version").stdout, r"^tandem \d+\.\d+\.\d+\n$")
        for command in ("run", "check", "plan", "route", "list", "simulate", "selftest"):
            done = tandem(command, "--help")
            self.expect(done, 0)
            self.assertIn("Usage: tandem " + command, done.stdout)
        listed = tandem("list", "operators").stdout
        self.assertEqual([line.split()[0] for line in listed.splitlines()], list(OPERATORS))
        self.assertIn("put-all-gather-quant-matmul", tandem("list", "scenarios").stdout)
        self.assertIn("ascend950pr", tandem("list", "devices").stdout)
        self.assertIn("shm", tandem("list", "transports").stdout)
        self.expect(tandem("list", "stars"), 2, "'stars'", "operators, scenarios, devices")

    def test_selftest_passes(self):
        done = tandem("selftest")
        self.expect_pass(done, 24)

    # Wrong requests.

    def test_unknown_words_are_refused_with_the_known_ones(self):
        self.expect(tandem(), 2, "use one of run, ", "plan", "route", "list", "selftest")
        self.expect(tandem("dance"), 2, "'dance' is unknown; use one of run, ")
        self.expect(tandem("run", "dance", *SMALL), 2, "'dance' is unknown", *OPERATORS)
        self.expect(tandem("run", *SMALL), 2, "no operator is named", *OPERATORS)
        self.expect(tandem("run", "all", "--dance"), 2, "--dance", "tandem run --help")
        self.expect(tandem("plan", "all"), 2, "'all' is unknown")

    def test_all_reasons_come_at_once(self):
        done = tandem("run", "all-gather-matmul", "-m", "-5", "-n", "2x", "--dtype-c", "int8",
                      "--tiles", "3", "--tile-rows", "4", "--timeout-ms", "0",
                      "--transport", "pigeon", "--local-matmul", "7", "--device", "ascend950pr")
        self.expect(done, 2, "m is -5", "-n is '2x'", "--dtype-c is 'int8'; use one of bf16, fp16",
                    "--tiles 3 and --tile-rows 4", "time-out is 0", "'pigeon'; use one of shm",
                    "--local-matmul is 7", "--device ascend950pr")
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), len(set(lines)))
        for line in lines:
            self.assertRegex(line, r"^[^:]+: .+; .+")  # subject: observation; remedy
        self.assertEqual(done.stdout, "REFUSED 1/1\n")

    def test_the_page_of_the_command_line_is_what_help_prints(self):
        sys.path.insert(0, str(SOURCE / "tools"))
        import cli_page  # pylint: disable=import-outside-toplevel

        written = (SOURCE / "docs" / "cli.md").read_text(encoding="utf-8")
        self.assertEqual(cli_page.page(program.path()), written, "run tools/cli_page.py")

    def test_a_membership_is_refused_with_all_reasons(self):
        self.expect(tandem("run", "all", "--rank", "5", "--size", "2", "--root", "nohost"), 2,
                    "the rank is 5 of 2", "the root is 'nohost'")
        self.expect(tandem("run", "all", "--rank", "x", "--size", "2", "--root", "a:99999999"), 2,
                    "--rank is 'x'", "the root is 'a:99999999'")

    def test_nothing_is_run_for_a_bad_count_of_ranks(self):
        for ranks in (0, -1, 65):
            self.expect(tandem("run", "all-gather-matmul", "-R", ranks, *SMALL), 2,
                        f"R is {ranks}; use 1 to 64 ranks")

    def test_options_of_other_operators_are_refused_for_these_alone(self):
        done = tandem("run", "all", *SMALL, "--slots", "1")
        self.expect(done, 0, "all-to-all-matmul on host: --slots applies to",
                    "matmul-reduce-scatter on host: --slots applies to")
        self.assertEqual(done.stdout.splitlines()[-1], "PASS 2/2 (2 refused)")

    def test_unsound_variants_are_refused_unless_allowed(self):
        arguments = ("run", "all-gather-matmul", *SMALL, "--barrier", "single-slot")
        self.expect(tandem(*arguments), 2, "--barrier single-slot")
        self.assertIn("all-gather-matmul", tandem(*arguments, "--allow-unsound").stdout)

    # Runs.

    def test_odd_shapes_pass_on_odd_counts_of_ranks(self):
        for ranks in (1, 3, 5):
            for m in (0, 1, 37):
                done = tandem("run", "all", "-R", ranks, "-m", m, "-n", "29", "-k", "40", "--bias")
                self.expect_pass(done, 4)
        self.expect_pass(tandem("run", "all", "-R", "3", "-m", "5", "-n", "7", "-k", "0"), 4)
        for more in ((), ("--bias",)):
            done = tandem("run", "all", "-R", "3", "-m", "5", "-n", "0", "-k", "64", *more)
            self.expect_pass(done, 4)

    def test_types_layouts_inputs_and_variants_pass(self):
        shape = ("-R", "3", "-m", "70", "-n", "45", "-k", "200")
        for options in (
            ("--trans-a", "--dtype-a", "e5m2", "--dtype-c", "fp32", "--input", "coded"),
            ("--trans-b", "--dtype-b", "e5m2", "--dtype-c", "fp16", "--input", "upstream"),
            ("--tiles", "5", "--flags", "round", "--scale-mode", "rceil", "--repeat", "3"),
            ("--bias", "--workers", "2", "--epoch-start", str(2**40), "--transport", "threads"),
        ):
            self.expect_pass(tandem("run", "all", *shape, *options), 4)
        self.expect_pass(tandem("run", "matmul-reduce-scatter", *shape, "--staging", "fp32",
                                "--cores", "shared", "--reduction", "rows", "--ub", "pipe"), 1)

    def test_the_reproduce_line_has_every_option(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "r.json"
            tandem("run", "all-to-all-matmul", "-R", "2", *SMALL, "--local-matmul", "1",
                   "--trans-a", "--bias", "--seed", "7", "--tiles", "2", "--timeout-ms", "5000",
                   "--json", path)
            (case,) = json.loads(path.read_text())["cases"]
        self.assertEqual(
            case["reproduce"],
            "tandem run all-to-all-matmul -R 2 -m 16 -n 24 -k 64 --trans-a --bias "
            "--local-matmul 1 --tiles 2 --input normal --seed 7 --timeout-ms 5000")
        self.expect_pass(tandem(*case["reproduce"].split()[1:]), 1)

    def test_a_flipped_bit_is_found_where_it_is(self):
        done = tandem("run", "all-gather-matmul", "-R", "4", "-m", "64", "-n", "24", "-k", "64",
                      "--tiles", "4", fault="corrupt:rank=1,index=2009")
        # Row 83 of rank 1 is its own row 19; row 83 = 64 + 19 belongs to rank 1.
        self.expect(done, 1, "1 of 24576 elements differ", "first on rank 1 at index 2009",
                    "(row 83, column 17)", "source rank 1, own part", "reproduce: tandem run")
        self.assertRegex(done.stderr, r"got 0x[0-9a-f]{4} \(\S+\), want 0x[0-9a-f]{4} \(\S+\)")
        self.assertEqual(done.stdout.splitlines()[-2:],
                         ["compared with the scalar reference, bit for bit: 24576 elements of C, "
                          "1 differs", "FAIL 0/1"])
        done = tandem("run", "all-gather-matmul", "-R", "4", "-m", "64", "-n", "24", "-k", "64",
                      "--tiles", "4", fault="corrupt:rank=1,index=4000")
        # Row 166 = 2 · 64 + 38: rank 2, slice 2 of 16 rows.
        self.expect(done, 1, "(row 166, column 16)", "source rank 2, round 2")

    def test_ranks_that_disagree_are_refused_together_and_fast(self):
        for name, value, own in (
            ("n", "70", "24"),
            ("tiles", "2", "chosen"),
            ("seed", "9", "1"),
            ("repeat", "2", "1"),
            ("version", "9", ""),
        ):
            start = time.monotonic()
            done = tandem("run", "matmul-reduce-scatter", *SMALL,
                          fault=f"field:rank=2,name={name},value={value}")
            self.assertLess(time.monotonic() - start, 2)
            self.expect(done, 2, f"{name} is {value} on rank 2 and {own}")
            self.assertNotIn("reproduce", done.stderr)

    def test_a_fault_that_plants_nothing_is_refused(self):
        for fault in ("field:rank=2,name=nothing,value=1", "corrupt:rank=1,index=100000",
                      "corrupt:rank=9,index=0", "explode:rank=1"):
            self.expect(tandem("run", "matmul-reduce-scatter", *SMALL, fault=fault), 2,
                        "TANDEM_TEST_FAULT")

    def test_what_the_plan_clamped_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "r.json"
            done = tandem("run", "matmul-all-gather", "-m", "5", "-n", "8", "-k", "8", "--tiles",
                          "100", "--json", path)
            note = "--tiles 100 clamped to the 5 rows"
            self.assertIn(f"note: matmul-all-gather: {note}\n", done.stdout)
            (case,) = json.loads(path.read_text())["cases"]
            self.assertEqual((case["notes"], case["seed"]), ([note], 1))
            self.assertEqual(case["problem"]["tiles"], "100")

    def test_a_world_that_fails_costs_one_case(self):
        done = tandem("run", "all", *SMALL, fault="kill:rank=1,launch=0")
        self.expect(done, 3, "rank 1 (pid ", "signal 9", "rank 0, 2, 3 stopped because rank 1")
        self.assertEqual(done.stderr.count("reproduce: tandem run "), 4)
        self.assertEqual(done.stdout.splitlines()[-1], "FAIL 0/4")

    def test_json_has_the_fields_and_the_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "r.json"
            self.expect(tandem("run", "all", *SMALL, "--slots", "1", "--json", path), 0)
            report = json.loads(path.read_text())
            self.assertEqual((report["verdict"], report["passed"], report["failed"],
                              report["refused"]), ("pass", 2, 0, 2))
            self.assertGreaterEqual(report["machine"]["processors"], 1)
            self.assertRegex(report["build"]["version"], r"^\d+\.\d+\.\d+$")
            by_operator = {case["operator"]: case for case in report["cases"]}
            self.assertEqual(set(by_operator), set(OPERATORS))
            case = by_operator["all-gather-matmul"]
            self.assertEqual((case["ranks"], case["m"], case["n"], case["k"]), (4, 16, 24, 64))
            self.assertEqual((case["verdict"], case["differing"]), ("pass", 0))
            self.assertEqual((case["rows"], case["exact_rows"]), (256, 256))
            self.assertEqual(case["elements"], 4 * 64 * 24)
            self.assertTrue(0 < case["bound_ratio"] <= 1 and case["ulp_max"] > 0)
            self.assertTrue(0 < case["seconds"]["fused"] < 10)
            self.assertEqual(by_operator["all-to-all-matmul"]["verdict"], "refused")
            self.assertNotIn("seconds", by_operator["all-to-all-matmul"])
            tandem("run", "all-gather-matmul", *SMALL, "--json", path,
                   fault="corrupt:rank=0,index=5")
            report = json.loads(path.read_text())
            self.assertEqual((report["verdict"], report["failed"]), ("fail", 1))
            first = report["cases"][0]["first"]
            self.assertEqual((first["rank"], first["index"]), (0, 5))
            self.assertEqual(first["got"] ^ first["want"], 1)
            tandem("run", "all", "--cases", "/nowhere.csv", "--json", path)
            report = json.loads(path.read_text())
            self.assertEqual((report["verdict"], report["cases"]), ("refused", []))
            self.assertIn("/nowhere.csv", report["messages"][0])
        self.expect(tandem("run", "all", *SMALL, "--json", "/nowhere/r.json"), 2, "/nowhere/r.json")
        self.expect(tandem("run", "all-gather-matmul", *SMALL, "--out", "/nowhere/c.npy"), 2,
                    "--out /nowhere/c.npy cannot be written")

    def test_result_files_that_cannot_be_written_are_refused_before_any_work(self):
        with tempfile.TemporaryDirectory() as folder:
            for command, options in (("run", ("--json", "--out")), ("bench", ("--json",)),
                                     ("check", ("--json",)),
                                     ("simulate", ("--json", "--html", "--trace"))):
                words = [command, "all-gather-matmul", *SMALL, "-R", "-2"]
                lost = f"{folder}/none/file"
                for option in options:
                    words += [option, lost]
                reasons = [f"{option} {lost} cannot be written" for option in options]
                self.expect(tandem(*words), 2, "R is -2", *reasons)
            done = tandem("selftest", "--calibrate", "--out", folder)
            self.expect(done, 2, f"--out {folder} cannot be written")
            # A refusal leaves no empty file either.
            path = Path(folder) / "r.json"
            self.expect(tandem("simulate", "all-gather-matmul", "-m", "-1", "--json", path), 2)
            self.assertFalse(path.exists())

    # Case lists.

    def test_case_lists_pass_scaled_down(self):
        cases = SOURCE / "cases"
        for operator, name, count in (("all-to-all-matmul", "all_to_all_matmul", 7),
                                      ("matmul-reduce-scatter", "matmul_reduce_scatter", 9),
                                      ("matmul-all-gather", "matmul_all_gather", 12)):
            done = tandem("run", operator, "--cases", cases / f"{name}.csv", "--scale-down", "8")
            self.expect_pass(done, count)

    def test_the_longest_case_list_passes_scaled_down(self):
        done = tandem("run", "all-gather-matmul", "--cases",
                      SOURCE / "cases" / "all_gather_matmul.csv", "--scale-down", "24")
        self.expect_pass(done, 28)

    def test_registered_shapes_refuse_operators_that_are_not_built(self):
        path = SOURCE / "cases" / "registered_shapes.csv"
        done = tandem("run", "all", "--cases", path, "--scale-down", "64")
        self.expect(done, 0, "matmul-all-to-all: the operator is not built",
                    "matmul-all-reduce: the operator is not built")
        self.assertEqual(done.stdout.splitlines()[-1], "PASS 44/44 (14 refused)")
        # m counts the rows of all ranks for all-to-all: 114172 / 4 / 64 = 445.
        self.assertRegex(done.stdout, r"all-to-all-matmul +4 +445 +48 +48 ")
        done = tandem("run", "all-to-all-matmul", "--cases", path, "--scale-down", "64")
        self.expect_pass(done, 3)

    def test_columns_become_options_and_unknown_ones_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "list.csv"
            path.write_text("m,k,n,ranks,head_m,buffer_count\n100,64,33,2,30,2\n65,33,1,3,64,0\n")
            done = tandem("run", "all-gather-matmul", "--cases", path)
            self.expect_pass(done, 2)
            rows = [line.split() for line in done.stdout.splitlines()[1:3]]
            self.assertEqual([row[1:5] + row[6:7] for row in rows],
                             [["2", "100", "33", "64", "4"], ["3", "65", "1", "33", "2"]])
            done = tandem("run", "all-gather-matmul", "--cases", path, "--scale-down", "2")
            self.expect_pass(done, 2)
            # 65 / 2 = 32 and 33 / 2 = 16: odd sizes stay odd, and 1 stays 1.
            self.assertRegex(done.stdout, r"all-gather-matmul +3 +33 +1 +16 ")
            self.expect(tandem("run", "all", "--cases", path), 2, "no column names the operator")
            self.expect(tandem("run", "all-gather-matmul", "--cases", path, "-m", "4"), 2,
                        "beside --cases")
            path.write_text("m,k,n,colour,size\n1,2,3,4,5\n")
            self.expect(tandem("run", "all-gather-matmul", "--cases", path), 2,
                        "column 'colour' is unknown", "column 'size' is unknown")
            path.write_text("m,k\n1,x\n")
            self.expect(tandem("run", "all-gather-matmul", "--cases", path), 2, "'n' is missing")
            path.write_text("m,k,n\n1,x,2\n1,,2\n")
            self.expect(tandem("run", "all-gather-matmul", "--cases", path), 2,
                        "line 2: k is 'x'", "line 3: k is ''")
        self.expect(tandem("run", "all", "--cases", "/nowhere/x.csv"), 2, "/nowhere/x.csv")

    # Files of operands: expected results are computed here, in integers.

    def run_files(self, operator, ranks, a, b, *options):
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(Path(folder) / name) for name in ("a.npy", "b.npy", "c.npy")]
            write_npy(paths[0], a)
            write_npy(paths[1], b)
            done = tandem("run", operator, "-R", ranks, "--a", paths[0], "--b", paths[1],
                          "--out", paths[2], *options)
            self.expect_pass(done, 1)
            return read_npy(paths[2])

    def test_files_hold_the_parts_of_all_ranks(self):
        ranks, m, n, k = 3, 6, 5, 200
        a_parts = [integers(m, k, rank) for rank in range(ranks)]
        b_parts = [integers(k, n, 3 + rank) for rank in range(ranks)]
        a, b = sum(a_parts, []), sum(b_parts, [])
        exact = ("--dtype-c", "fp32", "--tiles", "2")

        expected = sum((product(a, part) for part in b_parts), [])
        self.assertEqual(self.run_files("all-gather-matmul", ranks, a, b, *exact),
                         ("<f4", expected))
        sums = [product(x, y) for x, y in zip(a_parts, b_parts)]
        expected = [[sum(cells) for cells in zip(*rows)] for rows in zip(*sums)]
        self.assertEqual(
            self.run_files("matmul-reduce-scatter", ranks, a, b, *exact, "--staging", "fp32"),
            ("<f4", expected))
        self.assertEqual(self.run_files("all-to-all-matmul", ranks, a, b_parts[0], *exact),
                         ("<f4", product(a, b_parts[0])))
        self.assertEqual(self.run_files("matmul-all-gather", ranks, a_parts[0], b_parts[0], *exact),
                         ("<f4", product(a_parts[0], b_parts[0])))

    def test_files_follow_the_layout_and_the_type(self):
        ranks, m, n, k = 2, 3, 4, 16
        a_parts = [integers(m, k, rank) for rank in range(ranks)]
        b_parts = [integers(k, n, 3 + rank) for rank in range(ranks)]
        a = sum((turned(part) for part in a_parts), [])
        b = sum((turned(part) for part in b_parts), [])
        expected = sum((product(sum(a_parts, []), part) for part in b_parts), [])
        layout = ("--trans-a", "--trans-b")
        self.assertEqual(
            self.run_files("all-gather-matmul", ranks, a, b, *layout, "--dtype-c", "fp16"),
            ("<f2", expected))
        # BF16 has eight bits: what comes is the nearest, within 1 / 256.
        kind, rows = self.run_files("all-gather-matmul", ranks, a, b, *layout)
        self.assertEqual(kind, "<f4")
        for row, wanted in zip(rows, expected):
            for cell, value in zip(row, wanted):
                self.assertLessEqual(abs(cell - value) * 256, value)

    def test_files_that_contradict_each_other_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            a, b = Path(folder) / "a.npy", Path(folder) / "b.npy"
            write_npy(a, integers(8, 64, 0))
            write_npy(b, integers(32, 5, 1))
            files = ("--a", a, "--b", b)
            self.expect(tandem("run", "matmul-all-gather", *files, "-m", "9"), 2,
                        "m is 8, and 9 in the request", "k is 32, and 64 in")
            self.expect(tandem("run", "all-gather-matmul", "-R", "3", *files), 2,
                        "8 does not divide over 3 ranks", "32 does not divide over 3 ranks")
            self.expect(tandem("run", "all-gather-matmul", "--a", "/nowhere/a.npy",
                               "--bias", "/nowhere/c.npy", "-m", "-1"), 2,
                        "/nowhere/a.npy", "/nowhere/c.npy", "m is -1")
            self.expect(tandem("run", "all", "--a", a), 2, "name one operator")
            a.write_bytes(b"no array")
            self.expect(tandem("run", "matmul-all-gather", "--a", a), 2, "a.npy")

    def test_a_bias_is_drawn_or_read(self):
        with tempfile.TemporaryDirectory() as folder:
            a, b, bias, out = (Path(folder) / f"{name}.npy" for name in ("a", "b", "bias", "c"))
            rows, columns = integers(4, 32, 0), integers(32, 3, 1)
            write_npy(a, rows)
            write_npy(b, columns)
            write_npy(bias, [[0.5, -1.0, 1024.0]])
            done = tandem("run", "matmul-all-gather", "-R", "2", "--a", a, "--b", b, "--bias", bias,
                          "--out", out, "--dtype-c", "fp32")
            self.expect_pass(done, 1)
            expected = [[x + y for x, y in zip(row, (0.5, -1.0, 1024.0))]
                        for row in product(rows, columns)]
            self.assertEqual(read_npy(out), ("<f4", expected))
        self.expect_pass(tandem("run", "--bias", "matmul-all-gather", *SMALL), 1)

    # Questions.

    def test_plans_are_printed_or_refused_with_every_rule(self):
        done = tandem("plan", "all-gather-matmul", "-m", "256", "-n", "512", "-k", "1024",
                      "--workers", "2")
        self.expect(done, 0)
        self.assertIn("all-gather-matmul on host: R 4, m 256, n 512, k 1024", done.stdout)
        done = tandem("plan", "matmul-reduce-scatter", "-m", "4096", "-n", "4096", "-k", "4096",
                      "--device", "ascend950pr", "--json")
        self.expect(done, 0)
        json.loads(done.stdout)
        done = tandem("plan", "matmul-reduce-scatter", "-m", "4097", "-n", "4100", "-k", "40",
                      "--device", "ascend950pr")
        self.expect(done, 2, "n 4100 is not a multiple of 16", "use 4096 or 4112",
                    "k 40 is not a multiple of 32", "m 4097 does not divide over 4 ranks")
        self.assertEqual(done.stdout, "")
        self.expect(tandem("plan", "all-gather-matmul", "--device", "abacus"), 2, "abacus")

    def test_requirements_are_routed(self):
        folder = SOURCE / "cases" / "requirements"
        done = tandem("route", folder / "put_all_gather.json")
        self.expect(done, 0)
        self.assertIn("selected scenario: put-all-gather-quant-matmul", done.stdout)
        done = tandem("route", folder / "unsupported_grouped.json", "--json")
        self.expect(done, 2)
        self.assertEqual(json.loads(done.stdout)["selected_scenario"], "unsupported")
        self.expect(tandem("route", "/nowhere/r.json"), 2, "/nowhere/r.json")


if __name__ == "__main__":
    program.main()
