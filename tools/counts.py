# SPDX-License-Identifier: Apache-2.0
"""How many tests passed, failed and were skipped, read from what ctest and unittest say."""

import re
import unittest
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list = field(default_factory=list)  # names of what failed
    skips: list = field(default_factory=list)  # names of what was skipped, each with its reason

    def __add__(self, other):
        return Counts(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.failures + other.failures,
            self.skips + other.skips,
        )

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    def exit_code(self):
        """1 if something failed or nothing ran."""
        return 1 if self.failed or not self.passed else 0


def failure(name):
    return Counts(failed=1, failures=[name])


def skip_reason(output):
    """What a test said of its skip: the line after GoogleTest's mark, or unittest's words."""
    found = re.search(r": Skipped\n+([^\n]+)", output) or re.search(r"skipped '([^']+)'", output)
    return found.group(1).strip() if found else "no reason given"


def read_junit(path):
    """The counts of ctest's JUnit file. A test that could not start failed; it was not skipped."""
    counts = Counts()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        status = case.get("status")
        skipped = case.find("skipped")
        reason = skipped.get("message", "") if skipped is not None else ""
        if status == "run":
            counts.passed += 1
        elif status == "disabled" or reason.startswith("SKIP_"):
            output = case.findtext("system-out", "")
            counts += Counts(skipped=1, skips=[f"{case.get('name')}: {skip_reason(output)}"])
        else:
            counts += failure(case.get("name"))
    return counts


def run_unittests(folder):
    """Runs the *_test.py files of a folder in this process."""
    suite = unittest.TestLoader().discover(str(Path(folder)), pattern="*_test.py")
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    failed = [str(test) for test, _ in result.failures + result.errors]
    failed += [str(test) for test in result.unexpectedSuccesses]
    skips = [f"{test}: {reason}" for test, reason in result.skipped]
    passed = result.testsRun - len(failed) - len(skips)
    return Counts(passed, len(failed), len(skips), failed, skips)
