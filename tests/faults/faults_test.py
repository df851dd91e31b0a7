#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What happens when ranks die, stop, come late or never.

Usage: faults_test.py TANDEM [unittest arguments]
"""

import os
import signal
import sys
import unittest

sys.dont_write_bytecode = True
import runs  # noqa: E402
from runs import (IN_TIME_S, LONG_RUN, OPERATORS, PATIENT_RUN, RANDOM, SHORT_RUN,  # noqa: E402
                  TIMES, WIDE_SHAPE, FaultCase, a_moment, start, wait_for_ranks)


class Faults(FaultCase):
    def test_a_killed_rank_is_named_and_everybody_ends(self):
        for operator in OPERATORS:
            process = start(["run", operator, *SHORT_RUN[2:]], fault="kill:rank=2,launch=0")
            text = self.finish(process, 3, limit_s=1 + IN_TIME_S)
            self.assertIn("rank 2", text)
            self.assertIn("signal 9", text)
            self.assertIn("reproduce: ", text)

    def test_a_rank_killed_at_any_time_is_named(self):
        for _ in range(TIMES):
            process = start(LONG_RUN)
            victim = RANDOM.randrange(4)
            pid = wait_for_ranks(process, 4)[victim]
            a_moment()
            os.kill(pid, signal.SIGKILL)
            text = self.finish(process, 3, limit_s=IN_TIME_S)
            self.assertIn(f"rank {victim} (pid {pid}) was ended by signal 9", text)

    def test_a_stopped_rank_is_reported_within_the_deadline(self):
        for operator in OPERATORS:
            process = start(["run", operator, *SHORT_RUN[2:]], fault="stop:rank=1,launch=0")
            text = self.finish(process, 3, limit_s=1 + IN_TIME_S)
            self.assertIn("rank 1", text)
            self.assertIn("is stopped", text)
            self.assertIn("waited", text)

    def test_a_rank_stopped_at_any_time_is_reported(self):
        for _ in range(TIMES):
            process = start(LONG_RUN)
            victim = RANDOM.randrange(4)
            pid = wait_for_ranks(process, 4)[victim]
            a_moment()
            os.kill(pid, signal.SIGSTOP)
            text = self.finish(process, 3, limit_s=IN_TIME_S)
            self.assertIn(f"rank {victim} (pid {pid}) was stopped", text)
            self.assertNotRegex(text, rf"rank [0-9, ]*{victim}[0-9, ]* stopped because")

    def test_a_rank_that_is_three_seconds_late_is_waited_for(self):
        for _ in range(TIMES):
            fault = f"late:rank={RANDOM.randrange(4)},ms=3000"
            self.finish(start(PATIENT_RUN, fault=fault), 0)

    def test_a_rank_that_never_comes_is_named(self):
        for _ in range(TIMES):
            absent = RANDOM.randrange(4)
            text = self.finish(start(SHORT_RUN, fault=f"absent:rank={absent}"), 3,
                               limit_s=1 + IN_TIME_S)
            self.assertRegex(text, rf"for: rank {absent} \(never came\)")

    def test_a_rank_that_has_no_memory_for_windows_is_refused_by_all(self):
        for number in range(TIMES):
            poor = RANDOM.randrange(4)
            process = start(["run", OPERATORS[number % 4], "-R", "4", *WIDE_SHAPE],
                            fault=f"memory:rank={poor},mib=1")
            text = self.finish(process, 5)
            self.assertRegex(text, r"the 4 ranks need \d+ bytes together, "
                                   rf".* \d+ are available to rank {poor}")

    def test_an_interrupt_ends_all_ranks(self):
        for number in (signal.SIGINT, signal.SIGTERM) * ((TIMES + 1) // 2):
            process = start(LONG_RUN)
            wait_for_ranks(process, 4)
            a_moment()
            process.send_signal(number)
            self.finish(process, 128 + number, limit_s=IN_TIME_S)

    def test_ranks_die_with_their_launcher(self):
        for _ in range(TIMES):
            process = start(LONG_RUN)
            wait_for_ranks(process, 4)
            a_moment()
            process.kill()
            process.communicate()
            self.expect_nothing_left()

    def test_nobody_survives_and_the_next_job_starts_at_once(self):
        for _ in range(TIMES):
            process = start(LONG_RUN)
            pids = wait_for_ranks(process, 4)
            a_moment()
            self.kill_all([process.pid, *pids])
            self.finish(start(SHORT_RUN), 0)
            process.communicate()
            self.expect_nothing_left()

    def test_the_next_job_starts_at_once(self):
        self.finish(start(SHORT_RUN, fault="kill:rank=0,launch=0"), 3)
        self.finish(start(SHORT_RUN), 0)

    def test_two_jobs_at_once_do_not_hear_each_other(self):
        for _ in range(max(TIMES, 5)):
            self.finish_all([start(SHORT_RUN), start(SHORT_RUN)], 0)

    def test_many_jobs_on_few_processors_all_end_well(self):
        for transport in ("shm", "tcp"):
            command = ["run", "all", "-R", "8", "-m", "16", "-n", "24", "-k", "64", "--transport",
                       transport]
            self.finish_all([start(command) for _ in range(6)], 0, limit_s=60)

    def test_a_job_does_not_notice_that_another_one_is_killed(self):
        for _ in range(TIMES):
            long_one = start([*SHORT_RUN, "--repeat", "300"])
            killed = start(LONG_RUN)
            pids = [killed.pid, *wait_for_ranks(killed, 4)]
            a_moment()
            self.kill_all(pids)
            killed.communicate()
            self.finish(long_one, 0)


if __name__ == "__main__":
    runs.TANDEM = os.path.realpath(sys.argv.pop(1))
    unittest.main()
