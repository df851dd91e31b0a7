# SPDX-License-Identifier: Apache-2.0
"""Differing bytes are seen, differing durations are not."""

import stat
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))

import same_bytes  # noqa: E402


class SameBytes(unittest.TestCase):
    def differences(self, *bodies):
        """What is found between shell scripts that stand for programs."""
        with tempfile.TemporaryDirectory() as folder:
            programs = {}
            for number, body in enumerate(bodies):
                path = Path(folder, f"program{number}")
                path.write_text(f"#!/bin/sh\n{body}\n")
                path.chmod(path.stat().st_mode | stat.S_IXUSR)
                programs[path.name] = path
            with mock.patch.object(same_bytes, "COMMANDS", [["check", "x", "--json"]]):
                return same_bytes.differences(programs)

    def test_equal_outputs_are_the_same(self):
        differing, size = self.differences('echo "$1 $2"; echo {} > "$4"',
                                           'echo check x; echo {} > "$4"')
        self.assertEqual(differing, [])
        self.assertGreater(size, 0)

    def test_a_program_that_draws_is_found(self):
        differing, _ = self.differences("od -An -N8 -tx1 /dev/urandom")
        self.assertEqual(len(differing), 1)
        self.assertIn("tandem check x --json", differing[0])
        self.assertIn("addresses fixed", differing[0])

    def test_programs_that_disagree_are_found(self):
        differing, _ = self.differences("echo 1", "echo 2")
        self.assertIn("program0, addresses drawn; ", differing[0])
        self.assertIn(" | program1, addresses drawn; ", differing[0])

    def test_files_and_exit_codes_count(self):
        self.assertTrue(self.differences('echo a > "$4"', 'echo b > "$4"')[0])
        self.assertTrue(self.differences("exit 0", "exit 4")[0])

    def test_durations_do_not_count(self):
        differing, _ = self.differences("""echo '  "seconds": 1.5,' > "$4" """,
                                        """echo '  "seconds": 1.7,' > "$4" """)
        self.assertEqual(differing, [])


if __name__ == "__main__":
    unittest.main()
