#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/cli.md from the --help of every command: cli_page.py TANDEM [FILE]."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAD = """# The command line

Written by `tools/cli_page.py` from `tandem --help`; a test compares them.

Exit codes: 0 pass · 1 wrong result · 2 refused (shape, option, file) · 3 time-out or lost rank ·
4 the checker found something · 5 the environment is lacking · 130, 143 interrupted · 134 a bug of
ours.
"""


def help_of(tandem, *words):
    done = subprocess.run([tandem, *words, "--help"], capture_output=True, text=True, check=True)
    return re.sub(r"[ \t]+$", "", done.stdout.strip(), flags=re.MULTILINE)


def commands(text):
    """The names below `Subcommands:`."""
    listed = text.split("ubcommands:", 1)[1].split("\n\n")[0]
    return re.findall(r"^ {2}([a-z]+)", listed, flags=re.MULTILINE)


def page(tandem):
    top = help_of(tandem)
    parts = [HEAD, f"```\n{top}\n```\n"]
    for command in commands(top):
        parts.append(f"## tandem {command}\n\n```\n{help_of(tandem, command)}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("cli_page: no program is named; give the path of tandem")
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs" / "cli.md"
    target.write_text(page(sys.argv[1]), encoding="utf-8")
