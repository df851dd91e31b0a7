#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Too little memory, too few descriptors, no room for files: a run passes, or is refused once and
clearly, with what it needs and what there is.

Usage: limits_test.py TANDEM [unittest arguments]
"""

import os
import re
import resource
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import runs  # noqa: E402
from runs import SHORT_RUN, FaultCase, start  # noqa: E402

TRANSPORTS = ["shm", "tcp"]  # and ucx, where this build has it
# Four windows of 25 MB each, and few products.
WIDE_RUN = ["run", "all-gather-matmul", "-R", "4", "-m", "768", "-n", "1", "-k", "8192",
            "--timeout-ms", "5000"]
REFUSALS = (r"the 4 ranks need \d+ bytes together, .* \d+ are available to rank \d",
            r"window needs \d+ bytes, \d+ are available",
            r"out of memory with \d+ bytes available; use a smaller shape",
            r"no thread or descriptor: .*; raise the limits",
            r"\d+ more descriptors are needed, \d+ are free of the \d+ that this process may have")
# What could be in the way of who used names: of a file, a folder, a pipe, a dangling link.
STALE = """
for place in /dev/shm /tmp; do
  mount -t tmpfs -o size={size} tmpfs $place || exit 77
  for name in tandem tandem-window tandem.0 tandem_0 sem.tandem psm_tandem ucx_shm_posix_0; do
    head -c 4096 /dev/urandom > $place/$name
  done
  mkdir $place/tandem-1 && mkfifo $place/tandem-2 && ln -s /nowhere $place/tandem-3
  mount -o remount,ro $place || exit 77
done
exec "$@"
"""
SMALL_SHM = 'mount -t tmpfs -o size={size} tmpfs /dev/shm || exit 77; exec "$@"'


class Limits(FaultCase):
    def expect_pass_or_refusal(self, process):
        """What it said if it was refused, or None."""
        out, err = process.communicate(timeout=60)
        text = out + err
        self.assertIn(process.returncode, (0, 5), text)
        if process.returncode == 0:
            self.assertIn("PASS 1/1", out)
            return None
        self.assertNotIn("PASS", out)
        self.assertTrue(any(re.search(refusal, text) for refusal in REFUSALS), text)
        return text

    def start_limited(self, kind, value, arguments):
        def limit():
            resource.setrlimit(kind, (value, value))
        return start(arguments, preexec_fn=limit)

    def run_in_mounts(self, script, size, arguments):
        command = ["unshare", "--mount", "sh", "-c", script.format(size=size), "sh"]
        if subprocess.run([*command, "true"], capture_output=True).returncode != 0:
            self.skipTest("no right to make a mount namespace here")
        done = subprocess.run([*command, runs.TANDEM, *arguments], capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_windows_that_fit_one_by_one_but_not_together_are_refused(self):
        available = 0
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    available = int(line.split()[1]) * 1024
        # A window holds 4 · m · k bytes and takes 0.4 of the memory; four of them don't fit.
        k = 65536
        m = int(0.4 * available) // (4 * k)
        shape = ["-m", str(m), "-n", "1", "-k", str(k)]
        process = start(["run", "all-gather-matmul", "-R", "4", *shape])
        text = self.finish(process, 5)
        self.assertRegex(text, REFUSALS[0])
        self.assertIn("use fewer ranks or a smaller shape", text)

    def test_too_little_address_space_is_one_clear_refusal(self):
        process = self.start_limited(resource.RLIMIT_AS, 400 << 20,
                                     ["run", "matmul-all-gather", "-R", "2", "-m", "8192", "-n",
                                      "16384", "-k", "64"])
        self.assertIn("use a smaller shape", self.finish(process, 5))

    def test_every_limit_of_the_address_space_passes_or_is_refused(self):
        for transport in TRANSPORTS:
            refused = 0
            for mib in (60, 80, 100, 120, 160, 250, 2000):
                text = self.expect_pass_or_refusal(self.start_limited(
                    resource.RLIMIT_AS, mib << 20, [*WIDE_RUN, "--transport", transport]))
                refused += text is not None
            self.assertGreater(refused, 0)
            self.assertIsNone(text, f"{transport} does not run in 2000 MiB")

    def test_every_limit_of_descriptors_passes_or_is_refused(self):
        for transport in TRANSPORTS:
            last_refused = 0
            for count in (*range(5, 41), 64):
                text = self.expect_pass_or_refusal(self.start_limited(
                    resource.RLIMIT_NOFILE, count, [*SHORT_RUN, "--transport", transport]))
                if text is None:
                    continue
                self.assertEqual(last_refused, count - 1 if last_refused else 0, "one passed")
                last_refused = count
                self.expect_descriptors(text, transport, count)
            self.assertIn(last_refused, range(10, 40), f"{transport} runs with fewer, or never")

    def expect_descriptors(self, text, transport, count):
        """What it says is needed, and is free of the limit."""
        found = re.findall(r"(\w[\w ]*) of 4(?: ranks)?: (\d+) more .* needed, "
                           r"(\d+) are free of the (\d+) that", text)
        self.assertTrue(found, text)
        for subject, needed, free, limit in found:
            self.assertEqual(int(limit), count)
            self.assertLess(int(free), int(needed))
            # Standard input and outputs; the memory files of all ranks, or a listener; a pipe.
            used = {"shared memory": 3, "a world": 3,
                    "the launcher": 7 if transport == "shm" else 4}.get(subject, 5)
            self.assertEqual(int(free), count - used, text)

    def test_no_locked_memory_is_needed(self):
        for transport in TRANSPORTS:
            process = self.start_limited(resource.RLIMIT_MEMLOCK, 0,
                                         [*SHORT_RUN, "--transport", transport])
            self.finish(process, 0)

    def test_a_small_dev_shm_does_not_matter(self):
        for transport in TRANSPORTS:
            self.run_in_mounts(SMALL_SHM, "64k", [*SHORT_RUN, "--transport", transport])
            self.run_in_mounts(SMALL_SHM, "64m", [*WIDE_RUN, "--transport", transport])

    def test_stale_files_and_folders_that_cannot_be_written_do_not_matter(self):
        for transport in TRANSPORTS:
            self.run_in_mounts(STALE, "1m", [*SHORT_RUN, "--transport", transport])


if __name__ == "__main__":
    runs.TANDEM = os.path.realpath(sys.argv.pop(1))
    probe = start([*SHORT_RUN, "--transport", "ucx"])
    probe.communicate()
    if probe.returncode == 0:
        TRANSPORTS.append("ucx")
    unittest.main()
