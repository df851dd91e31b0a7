# SPDX-License-Identifier: Apache-2.0
"""What the fault tests share: starting ranks, watching processes, checking how a run ended.

TANDEM_FAULT_TIMES says how often each fault is made at a random moment: 3, or 50 for a long run of
half an hour. TANDEM_SEED repeats the moments of a run.
"""

import os
import random
import signal
import socket
import subprocess
import time
import unittest

# A shell that starts something in the background has it ignore this; ranks would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
TANDEM = ""
TIMEOUT_MS = 1000
# Long enough to be hit by a signal in the middle of its launches.
LONG_RUN = ["run", "all-gather-matmul", "-R", "4", "-m", "64", "-n", "256", "-k", "512",
            "--repeat", "20000", "--timeout-ms", str(TIMEOUT_MS)]
SHORT_RUN = ["run", "all-gather-matmul", "-R", "4", "-m", "37", "-n", "70", "-k", "96",
             "--timeout-ms", str(TIMEOUT_MS)]
# Time enough for a rank that comes three seconds late.
PATIENT_RUN = [*SHORT_RUN[:-1], "10000"]
# Each window takes 2 MiB or more.
WIDE_SHAPE = ["-m", "2048", "-n", "2048", "-k", "2048", "--tiles", "1"]
IN_TIME_S = TIMEOUT_MS / 1000 + 2
TIMES = int(os.environ.get("TANDEM_FAULT_TIMES", "3"))
SEED = int(os.environ.get("TANDEM_SEED", time.time_ns()))
RANDOM = random.Random(SEED)
OPERATORS = ("all-to-all-matmul", "all-gather-matmul", "matmul-all-gather", "matmul-reduce-scatter")


def processes():
    """Pids of all tandem processes."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{entry}/stat") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if words[0].decode() == TANDEM and state != "Z":
            found.append(int(entry))
    return found


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def a_moment():
    """Anywhere from the first steps of a run to the middle of its launches."""
    time.sleep(0.02 + 0.5 * RANDOM.random())


def start(arguments, fault=None, **options):
    environment = dict(os.environ)
    environment.pop("TANDEM_TEST_FAULT", None)
    if fault:
        environment["TANDEM_TEST_FAULT"] = fault
    return subprocess.Popen([TANDEM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env=environment, **options)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_member(arguments, rank, size, port, **options):
    """One rank of a world whose ranks are started one by one."""
    return start([*arguments, "--rank", str(rank), "--size", str(size),
                  "--root", f"127.0.0.1:{port}"], **options)


def start_members(arguments, size, port, **options):
    return [start_member(arguments, rank, size, port, **options) for rank in range(size)]


def wait_for_ranks(process, count):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        ranks = children(process.pid)
        if len(ranks) == count:
            return ranks
        time.sleep(0.01)
    raise AssertionError("the ranks did not start")


class FaultCase(unittest.TestCase):
    def setUp(self):
        self.seconds = []
        self.shm = set(os.listdir("/dev/shm"))
        self.before = set(processes())

    def tearDown(self):
        if self.seconds:
            print(f"{self.id()}: {len(self.seconds)} times, seconds until the last rank ended: "
                  f"median {sorted(self.seconds)[len(self.seconds) // 2]:.2f}, "
                  f"longest {max(self.seconds):.2f}; TANDEM_SEED={SEED}")
        self.expect_nothing_left()

    def expect_nothing_left(self):
        self.assertEqual(set(os.listdir("/dev/shm")) - self.shm, set(), "left in /dev/shm")
        deadline = time.monotonic() + 3
        while set(processes()) - self.before and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(set(processes()) - self.before, set(), "processes were left behind")

    def finish(self, process, code, limit_s=20):
        """What it printed. It ends in time, and only a run that ends well says so."""
        return self.finish_all([process], code, limit_s)[0]

    def finish_all(self, started, code, limit_s=20):
        begin = time.monotonic()
        said = []
        for process in started:
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, code, out + err)
            self.assertLess(time.monotonic() - begin, limit_s, out + err)
            if code != 0:
                self.assertNotIn("PASS", out)
            said.append(out + err)
        self.seconds.append(time.monotonic() - begin)
        return said

    def kill_all(self, pids):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
