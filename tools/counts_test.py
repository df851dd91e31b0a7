# SPDX-License-Identifier: Apache-2.0
"""What counts as passed, failed and skipped."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from counts import Counts, failure, read_junit  # noqa: E402

# As ctest 3.25 writes it.
REPORT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="8" failures="2" disabled="1" skipped="4">
  <testcase name="passes" status="run"><system-out>ok</system-out></testcase>
  <testcase name="passes too" status="run"/>
  <testcase name="fails" status="fail"><failure message=""/></testcase>
  <testcase name="times out" status="fail"><failure message=""/></testcase>
  <testcase name="skips" status="notrun">
    <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
  </testcase>
  <testcase name="skips by code" status="notrun">
    <skipped message="SKIP_RETURN_CODE=77"/>
  </testcase>
  <testcase name="disabled" status="disabled"/>
  <testcase name="x_NOT_BUILT" status="notrun">
    <skipped message="Unable to find executable"/>
  </testcase>
</testsuite>
"""


class JunitReport(unittest.TestCase):
    def test_a_test_that_could_not_start_failed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "junit.xml"
            path.write_text(REPORT, encoding="utf-8")
            counts = read_junit(path)
        self.assertEqual(str(counts), "2 passed, 3 failed, 3 skipped")
        self.assertEqual(counts.failures, ["fails", "times out", "x_NOT_BUILT"])


class Verdict(unittest.TestCase):
    def test_success_needs_a_passed_test_and_no_failed_one(self):
        self.assertEqual(Counts(passed=1).exit_code(), 0)
        self.assertEqual(Counts(passed=1, skipped=1).exit_code(), 0)
        self.assertEqual(Counts(passed=9, failed=1).exit_code(), 1)
        self.assertEqual(Counts(skipped=1).exit_code(), 1)
        self.assertEqual(Counts().exit_code(), 1)

    def test_sums_keep_the_names_of_failures(self):
        total = Counts(1, 0, 2) + failure("a") + Counts(3, 1, 0, ["b"])
        self.assertEqual(str(total), "4 passed, 2 failed, 2 skipped")
        self.assertEqual(total.failures, ["a", "b"])


if __name__ == "__main__":
    unittest.main()
