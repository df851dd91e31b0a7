# SPDX-License-Identifier: Apache-2.0
"""The program under test: how the tests call it and what they expect of every answer."""

import os
import socket
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
OPERATORS = ("all-to-all-matmul", "all-gather-matmul", "matmul-all-gather", "matmul-reduce-scatter")
SMALL = ("-m", "16", "-n", "24", "-k", "64")


def path():
    return os.environ["TANDEM_UNDER_TEST"]


def tandem(*arguments, fault=None):
    environment = {k: v for k, v in os.environ.items() if k != "TANDEM_TEST_FAULT"}
    if fault:
        environment["TANDEM_TEST_FAULT"] = fault
    command = [path(), *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_all(commands):
    """Runs them side by side."""
    started = [subprocess.Popen([path(), *map(str, words)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True) for words in commands]
    said = [process.communicate(timeout=100) for process in started]
    return [subprocess.CompletedProcess(process.args, process.returncode, *texts)
            for process, texts in zip(started, said)]


class ProgramCase(unittest.TestCase):
    def expect(self, done, code, *texts):
        """The exit code, and texts that stderr holds."""
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)


def main():
    """X_test.py TANDEM [unittest arguments]"""
    os.environ["TANDEM_UNDER_TEST"] = sys.argv.pop(1)
    unittest.main()
