#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators over several hosts, each of them a network namespace of this machine.

Usage: hosts_test.py TANDEM [unittest arguments]

member_cases of tests/differential is found in the same build.
"""

import json
import os
import random
import re
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
import overlap  # noqa: E402
from namespaces import Hosts, NotPermitted  # noqa: E402

TANDEM = ""
MEMBER_CASES = ""
TRANSPORTS = ["tcp"]  # and ucx, where this build has it
ATTEMPTS = 4
TIMES = int(os.environ.get("TANDEM_FAULT_TIMES", "3"))  # see tests/faults/runs.py
TIMEOUT_MS = 1000
IN_TIME_S = TIMEOUT_MS / 1000 + 2
SEED = int(os.environ.get("TANDEM_SEED", time.time_ns()))
RANDOM = random.Random(SEED)
SMALL = ("-m", "130", "-n", "514", "-k", "777")
LONG_RUN = ("all-gather-matmul", "-m", "64", "-n", "256", "-k", "512", "--repeat", "20000",
            "--timeout-ms", str(TIMEOUT_MS))


class OnHosts(unittest.TestCase):
    def make(self, count, rate=None):
        hosts = Hosts(count, rate)
        try:
            hosts.__enter__()
        except NotPermitted as error:
            self.skipTest(f"no hosts can be made here: {error}")
        self.addCleanup(hosts.__exit__)
        return hosts

    def start(self, hosts, places, *words):
        """places[rank] is its host."""
        return self.start_words(hosts, places, ["run", *words])

    def start_words(self, hosts, places, words):
        command = [TANDEM, *words]
        return [hosts.start_rank(host, rank, len(places), command, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for rank, host in enumerate(places)]

    def expect_pass(self, hosts, places, *words):
        ranks = self.start(hosts, places, *words)
        said = [process.communicate(timeout=60) for process in ranks]
        for process, (out, err) in zip(ranks, said):
            self.assertEqual(process.returncode, 0, out + err)
        self.assertIn("PASS 4/4", said[0][0])

    def test_all_operators_over_two_hosts(self):
        hosts = self.make(2)
        for transport in TRANSPORTS:
            self.expect_pass(hosts, [0, 1], "all", "--transport", transport)

    def test_all_operators_over_four_hosts(self):
        hosts = self.make(4)
        for transport in TRANSPORTS:
            self.expect_pass(hosts, [0, 1, 2, 3], "all", "--transport", transport, "--tiles", "7",
                             *SMALL)

    def test_two_ranks_on_each_of_two_hosts(self):
        hosts = self.make(2)
        for transport in TRANSPORTS:
            self.expect_pass(hosts, [0, 0, 1, 1], "all", "--transport", transport, *SMALL)

    def expect_differential_cases(self, places):
        """Every element of every everyday case of so many ranks has the reference's bits."""
        hosts = self.make(max(places) + 1)
        for transport in TRANSPORTS:
            ranks = [hosts.start_rank(host, rank, len(places), [MEMBER_CASES, transport], text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                     for rank, host in enumerate(places)]
            said = [process.communicate(timeout=100) for process in ranks]
            for process, (out, err) in zip(ranks, said):
                self.assertEqual(process.returncode, 0, out + err)
                found = re.search(r"(\d+) cases, (\d+) elements, 0 failures", out)
                self.assertIsNotNone(found, out + err)
                self.assertGreater(int(found.group(1)), 200)
            print(len(places), "ranks on", max(places) + 1, "hosts,", said[0][0].strip())

    def test_the_differential_cases_over_two_hosts(self):
        self.expect_differential_cases([0, 1])

    def test_the_differential_cases_over_four_hosts(self):
        self.expect_differential_cases([0, 1, 2, 3])

    def test_the_differential_cases_on_two_ranks_of_each_of_two_hosts(self):
        self.expect_differential_cases([0, 0, 1, 1])

    def loopback_bytes(self, hosts, host):
        said = subprocess.run(["ip", "-n", hosts.names[host], "-json", "-statistics", "link",
                               "show", "lo"], capture_output=True, text=True, check=True).stdout
        return json.loads(said)[0]["stats64"]["tx"]["bytes"]

    def test_ranks_of_a_host_share_memory_and_others_do_not(self):
        """Counted by the links themselves, and by the loopback that ranks of a host would use."""
        hosts = self.make(2)
        places = [0, 0, 1, 1]
        # Each rank sends 2 MiB to the other one of its host.
        sends = ["run", "all-gather-matmul", "-m", "1024", "-n", "16", "-k", "2048"]
        for transport in TRANSPORTS:
            checks = self.start_words(hosts, places, ["selftest", "--transport", transport])
            said = [process.communicate(timeout=60) for process in checks]
            self.assertEqual([process.returncode for process in checks], [0] * 4, said)
            self.assertIn("shared with 1 of 3 peers; 0 requests to them over the link", said[0][0])
            loopback = {}
            for way in ("shared", "linked"):
                before = self.loopback_bytes(hosts, 1)
                ranks = self.start_words(hosts, places, [*sends, "--transport", transport,
                                                         "--same-host", way])
                said = [process.communicate(timeout=60) for process in ranks]
                self.assertEqual([process.returncode for process in ranks], [0] * 4, said)
                loopback[way] = self.loopback_bytes(hosts, 1) - before
            print(transport, "bytes on the loopback:", loopback)
            self.assertGreater(loopback["linked"], 2 * 2**21)
            self.assertLess(loopback["shared"], 2**18)

    def test_a_slow_link_changes_no_bit(self):
        hosts = self.make(2, "100mbit")
        for transport in TRANSPORTS:
            self.expect_pass(hosts, [0, 1], "all", "--transport", transport, *SMALL)

    def test_a_word_waits_for_no_long_queue_of_a_slow_link(self):
        """The round trip of a busy connection at 100 Mbit/s; the shaper holds 20 ms and a burst."""
        hosts = self.make(2, "100mbit")
        ranks = self.start(hosts, [0, 1], "all-gather-matmul", "-m", "4096", "-n", "16", "-k",
                           "1024", "--transport", "tcp", "--repeat", "6")
        round_trips = []
        while ranks[0].poll() is None:
            said = subprocess.run(["ip", "netns", "exec", hosts.names[0], "ss", "-tinH"],
                                  capture_output=True, text=True, check=True).stdout
            busy = [line for line in said.splitlines() if "unacked:" in line]
            round_trips += [float(re.search(r"\brtt:([\d.]+)", line).group(1)) for line in busy]
            time.sleep(0.02)
        for process in ranks:
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, out + err)
        self.assertGreater(len(round_trips), 20)
        median = sorted(round_trips)[len(round_trips) // 2]
        print(f"round trip: median {median} ms of {len(round_trips)}, longest {max(round_trips)}")
        self.assertLess(median, 10)

    def test_transfers_hide_behind_products(self):
        """Fused below 0.75 of serial, with products as long as the transfers, at 1 Gbit/s."""
        hosts = self.make(2, "1gbit")
        for number, operator in enumerate(overlap.OPERATORS):
            transport = TRANSPORTS[number % len(TRANSPORTS)]
            given = [word for item in overlap.shape(operator, 4, 2e9).items() for word in item]
            words = [operator, *given, "--tiles", 4, "--compute", "sleep", "--workers", 1,
                     "--transport", transport, "--launches", 5, "--warm"]
            for attempt in range(ATTEMPTS):
                seconds = overlap.seconds_of(overlap.measure(hosts, TANDEM, words, timeout=60))
                print(operator, transport, seconds)
                if seconds["fused"] < 0.75 * seconds["serial"]:
                    break
                # The fault may be of who else uses this machine.
                self.assertLess(attempt, ATTEMPTS - 1, seconds)

    def test_a_benchmark_is_refused_alike_on_all_ranks(self):
        hosts = self.make(2)
        words = ["bench", "all-gather-matmul", "--transport", "tcp", "--arms", "baseline",
                 "--compute", "sleep", "--sleep-gflops", "0", "--launches", "-1"]
        for process in self.start_words(hosts, [0, 1], words):
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 2, out + err)
            for part in ("cannot sleep", "through shared memory", "--sleep-gflops is 0",
                         "--launches is -1"):
                self.assertIn(part, err)

    def test_ranks_that_want_other_benchmarks_are_refused_by_all(self):
        hosts = self.make(2)
        ranks = []
        for rank, launches in enumerate(("2", "3")):
            command = [TANDEM, "bench", "all-gather-matmul", *SMALL, "--launches", launches]
            ranks.append(hosts.start_rank(rank, rank, 2, command, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        for process in ranks:
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 2, out + err)
            self.assertIn("launches is 3 on rank 1 and 2 on rank 0", err)

    def test_a_link_that_goes_down_is_reported_by_both_sides(self):
        hosts = self.make(2)
        for transport in TRANSPORTS:
            seconds = []
            for _ in range(TIMES):
                ranks = self.start(hosts, [0, 1], *LONG_RUN, "--transport", transport)
                time.sleep(0.4 + 0.3 * RANDOM.random())
                hosts.set_link(1, "down")
                begin = time.monotonic()
                for rank, process in enumerate(ranks):
                    out, err = process.communicate(timeout=20)
                    self.assertEqual(process.returncode, 3, out + err)
                    self.assertIn(f"rank {1 - rank}", err)
                    self.assertRegex(err, "silent for|nothing was heard|heard of .* ms ago|"
                                          "connection ended")
                seconds.append(time.monotonic() - begin)
                self.assertLess(seconds[-1], IN_TIME_S)
                hosts.set_link(1, "up")
            print(f"{transport}: {TIMES} times, longest {max(seconds):.2f} s; TANDEM_SEED={SEED}")

    def test_a_rank_killed_beside_a_neighbour_is_named_by_its_own_host_and_the_other(self):
        for transport in TRANSPORTS:
            hosts = self.make(2)
            for _ in range(TIMES):
                ranks = self.start(hosts, [0, 0, 1, 1], *LONG_RUN, "--transport", transport)
                victim = RANDOM.randrange(4)
                time.sleep(0.1 + 0.5 * RANDOM.random())
                ranks[victim].kill()
                begin = time.monotonic()
                for rank, process in enumerate(ranks):
                    out, err = process.communicate(timeout=20)
                    if rank == victim:
                        continue
                    self.assertEqual(process.returncode, 3, out + err)
                    self.assertIn(f"rank {victim}", err)
                self.assertLess(time.monotonic() - begin, IN_TIME_S)
                self.expect_pass(hosts, [0, 0, 1, 1], "all", "--transport", transport, *SMALL)
            hosts.__exit__()

    def test_hosts_on_which_nobody_survives_run_the_next_job_at_once(self):
        for transport in TRANSPORTS:
            hosts = self.make(2)
            for _ in range(TIMES):
                ranks = self.start(hosts, [0, 1], *LONG_RUN, "--transport", transport)
                time.sleep(0.1 + 0.5 * RANDOM.random())
                for process in ranks:
                    process.kill()
                self.expect_pass(hosts, [0, 1], "all", "--transport", transport)
                for process in ranks:
                    process.communicate()
            names = [*hosts.names, hosts.switch]
            hosts.__exit__()
            listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
            self.assertEqual([name for name in names if name in listed.split()], [])


if __name__ == "__main__":
    TANDEM = os.path.realpath(sys.argv.pop(1))
    BUILD = os.path.dirname(os.path.dirname(os.path.dirname(TANDEM)))
    MEMBER_CASES = os.path.join(BUILD, "tests", "differential", "member_cases")
    probe = [TANDEM, "run", "all-gather-matmul", "-R", "1", "-m", "1", "-n", "1", "-k", "1"]
    if subprocess.run([*probe, "--transport", "ucx"], capture_output=True).returncode == 0:
        TRANSPORTS.append("ucx")
    unittest.main()
