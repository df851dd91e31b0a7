#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same faults where ranks share no memory: forked ones and ranks started one by one.

Usage: link_faults_test.py TANDEM [unittest arguments]
"""

import os
import resource
import signal
import socket
import sys
import time
import unittest

sys.dont_write_bytecode = True
import runs  # noqa: E402
from runs import (IN_TIME_S, LONG_RUN, OPERATORS, PATIENT_RUN, RANDOM, SHORT_RUN,  # noqa: E402
                  TIMES, WIDE_SHAPE, FaultCase, a_moment, free_port, start, start_member,
                  start_members, wait_for_ranks)

TCP = ["--transport", "tcp"]
LINKED = ["--same-host", "linked"]
# What members are told, sharing memory and not; and the same with ucx, where this build has it.
WAYS = [TCP, [*TCP, *LINKED]]
# What is said of a rank, whether it had joined already or was on its way.
GONE = "is lost: its connection ended|never came|the connection ended|no connection"
STOPPED = "is stopped|never came|no answer in time|no connection"
# Without -R: the count of ranks that were started.
LONG, SHORT, PATIENT = ([word for word in run if word not in ("-R", "4")]
                        for run in (LONG_RUN, SHORT_RUN, PATIENT_RUN))


class LinkFaults(FaultCase):
    def end_survivors(self, members, victim, text):
        """All but one have exit code 3, in time, and a report that names it and says `text`."""
        survivors = [process for rank, process in enumerate(members) if rank != victim]
        for said in self.finish_all(survivors, 3, limit_s=IN_TIME_S):
            self.assertIn(f"rank {victim}", said)
            self.assertRegex(said, text)

    def test_a_killed_rank_is_named_and_everybody_ends(self):
        for operator in OPERATORS:
            process = start(["run", operator, *SHORT_RUN[2:], *TCP], fault="kill:rank=2,launch=0")
            text = self.finish(process, 3, limit_s=1 + IN_TIME_S)
            self.assertIn("rank 2", text)
            self.assertIn("signal 9", text)

    def test_a_stopped_rank_is_reported_within_the_deadline(self):
        for operator in OPERATORS:
            process = start(["run", operator, *SHORT_RUN[2:], *TCP], fault="stop:rank=1,launch=0")
            text = self.finish(process, 3, limit_s=1 + IN_TIME_S)
            self.assertIn("rank 1", text)
            self.assertIn("is stopped", text)

    def test_a_member_killed_at_any_time_is_named_by_all(self):
        for way in WAYS * TIMES:
            members = start_members([*LONG, *way], 3, free_port())
            victim = RANDOM.randrange(3)
            a_moment()
            members[victim].kill()
            self.end_survivors(members, victim, GONE)
            members[victim].communicate()

    def test_a_member_stopped_at_any_time_is_named_by_all(self):
        for way in WAYS * TIMES:
            members = start_members([*LONG, *way], 3, free_port())
            victim = RANDOM.randrange(3)
            a_moment()
            os.kill(members[victim].pid, signal.SIGSTOP)
            try:
                self.end_survivors(members, victim, STOPPED)
            finally:
                members[victim].kill()
                members[victim].communicate()

    def test_nobody_survives_and_the_next_job_starts_at_once(self):
        port = free_port()
        for way in WAYS * TIMES:
            members = start_members([*LONG, *way], 3, port)
            a_moment()
            for process in members:
                process.kill()
            for process in members:
                process.communicate()
            self.finish_all(start_members([*SHORT, *way], 3, port), 0)

    def test_an_interrupted_member_ends_all(self):
        for way in WAYS:
            for number in (signal.SIGINT, signal.SIGTERM) * ((TIMES + 1) // 2):
                members = start_members([*LONG, *way], 3, free_port())
                a_moment()
                members[0].send_signal(number)
                self.end_survivors(members, 0, GONE)
                members[0].communicate()
                self.assertEqual(members[0].returncode, -number)

    def test_an_interrupted_launcher_ends_its_ranks(self):
        for way in WAYS:
            for number in (signal.SIGINT, signal.SIGTERM) * ((TIMES + 1) // 2):
                process = start([*LONG_RUN, *way])
                wait_for_ranks(process, 4)
                a_moment()
                process.send_signal(number)
                self.finish(process, 128 + number, limit_s=IN_TIME_S)

    def test_a_member_that_is_three_seconds_late_is_waited_for(self):
        port = free_port()
        for way in WAYS * TIMES:
            late = RANDOM.randrange(3)
            command = [*PATIENT, *way]
            members = [start_member(command, rank, 3, port) for rank in range(3) if rank != late]
            time.sleep(3)
            members.append(start_member(command, late, 3, port))
            self.finish_all(members, 0)

    def test_a_member_that_never_comes_is_named_by_all(self):
        for way in WAYS:
            for number in range(TIMES):
                absent = number % 3
                port = free_port()
                command = [*SHORT, *way]
                members = [None if rank == absent else start_member(command, rank, 3, port)
                           for rank in range(3)]
                self.end_survivors(members, absent, "never came")

    def test_a_member_that_has_no_memory_for_windows_is_refused_by_all(self):
        for way in WAYS:
            for number in range(TIMES):
                poor = RANDOM.randrange(3)
                members = start_members(["run", OPERATORS[number % 4], *WIDE_SHAPE, *way], 3,
                                        free_port(),
                                        fault=f"memory:rank={poor},mib=1")
                for said in self.finish_all(members, 5):
                    self.assertRegex(said, rf"rank {poor}: window needs \d+ bytes, \d+ are avail")

    def test_members_of_one_host_need_not_all_share_memory(self):
        """Each channel is of one kind, by memory or by link; the bits are the same."""
        for way in WAYS[::2]:
            for number in range(max(TIMES, 3)):
                port = free_port()
                linked = RANDOM.sample(range(4), 1 + number % 3)
                members = [start_member(["run", "all", "-m", "37", "-n", "70", "-k", "96", *way,
                                         *(LINKED if rank in linked else ())], rank, 4, port)
                           for rank in range(4)]
                self.finish_all(members, 0)

    def test_a_member_that_has_too_few_descriptors_is_told_to_all(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (9, 9))
        for way in WAYS:
            for number in range(TIMES):
                poor = number % 3
                port = free_port()
                members = []
                for rank in range(3):
                    limited = {"preexec_fn": limit} if rank == poor else {}
                    members.append(start_member([*PATIENT, *way], rank, 3, port, **limited))
                for said in self.finish_all(members, 5, limit_s=IN_TIME_S):
                    self.assertRegex(said, rf"rank {poor} of 3: \d+ more descriptors are needed, "
                                           r"6 are free of the 9")

    def test_members_may_come_in_any_order(self):
        for way in WAYS:
            for size in (2, 3, 5, 8):
                port = free_port()
                order = RANDOM.sample(range(size), size)
                members = []
                for rank in order:
                    members.append(start_member([*SHORT[:-1], "10000", *way],
                                                rank, size, port))
                    time.sleep(0.1 * RANDOM.random())
                self.finish_all(members, 0)

    def test_strangers_do_no_harm(self):
        port = free_port()
        first = start_member(PATIENT, 0, 3, port)
        strangers = []
        deadline = time.monotonic() + 10
        while len(strangers) < 4 and time.monotonic() < deadline:
            try:
                strangers.append(socket.create_connection(("127.0.0.1", port), timeout=1))
            except ConnectionRefusedError:
                time.sleep(0.02)
        strangers[0].close()  # a port scan
        strangers[1].sendall(b"GET / HTTP/1.1\r\n\r\n")
        strangers[2].sendall(b"TANDEM\x02\n\xff\xff\xff\xff")  # too long; the last one is mute
        other_job = start_member([*SHORT, "--job", "another"], 1, 3, port)
        text = self.finish(other_job, 3)
        self.assertIn("is rank 0 of the same job (id 'another')", text)
        for process in [first, *(start_member(SHORT, rank, 3, port) for rank in (1, 2))]:
            self.finish(process, 0)
        for stranger in strangers:
            stranger.close()

    def test_ranks_that_disagree_are_refused_on_all(self):
        port = free_port()
        members = [start_member(SHORT, 0, 2, port), start_member(SHORT, 1, 3, port)]
        for process in members:
            self.assertIn("was started for 3 ranks, rank 0 for 2", self.finish(process, 2))
        port = free_port()
        members = [start_member(SHORT, rank, 3, port) for rank in (0, 1, 1)]
        for process in members:
            self.assertIn("came after another rank 1", self.finish(process, 2))

    def test_two_jobs_at_once_do_not_hear_each_other(self):
        for way in WAYS:
            command = [*SHORT, *way]
            for _ in range(TIMES):
                self.finish_all([*start_members(command, 3, free_port()),
                                 *start_members(command, 3, free_port())], 0)


if __name__ == "__main__":
    runs.TANDEM = os.path.realpath(sys.argv.pop(1))
    probe = start([*SHORT, "-R", "1", "--transport", "ucx"])
    probe.communicate()
    if probe.returncode == 0:
        WAYS += [["--transport", "ucx"], ["--transport", "ucx", *LINKED]]
    unittest.main()
