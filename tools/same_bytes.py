#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether equal commands give equal bytes of report, JSON, trace and page.

Each command runs twice with addresses that the system draws anew and once with fixed ones. A
program that is given runs as it is. Otherwise, and for each --build, it is built into
build/same-bytes: by g++ and clang++, without and with optimisation. All must agree.
"""

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILDS = {f"{compiler}{level}": (compiler, level)
          for compiler in ("g++", "clang++") for level in ("-O0", "-O2")}
SMALL = ["-R", "3", "--tiles", "3"]
COMMANDS = [
    ["check", "all-gather-matmul", *SMALL, "--barrier", "single-slot", "--seed", "5", "--json"],
    ["check", "all-to-all-matmul", *SMALL, "--strategy", "random", "--schedules", "20", "--json"],
    ["check", "matmul-all-gather", *SMALL, "--strategy", "pct", "--schedules", "20", "--json"],
    ["check", "matmul-reduce-scatter", *SMALL, "--strategy", "starve", "--json"],
    ["check", "--mutant", "A01", "--json"],
    ["check", "--mutant", "N10", "--strategy", "random", "--schedules", "5", "--no-shrink"],
    ["simulate", "matmul-reduce-scatter", "-R", "4", "-m", "4096", "-n", "1024", "-k", "512",
     "--sweep-tiles", "--json", "--trace", "--html"],
    ["simulate", "all-gather-matmul", "-R", "8", "-m", "1024", "-n", "2048", "-k", "1024",
     "--tiles", "4", "--straggler", "2:30", "--scale", "link_mb_s=0.7", "--json", "--trace"],
    ["simulate", "all-to-all-matmul", "-R", "4", "--device", "host", "--workers", "2", "--json",
     "--trace"],
    ["selftest", "--mutants", "--configurations", "40", "--generated-step", "300"],
]
FILES = ("--json", "--trace", "--html")


def output_of(program, command, fixed):
    """Everything that a command says and writes, but how long it took."""
    with tempfile.TemporaryDirectory() as folder:
        words = []
        for word in command:
            words.append(word)
            if word in FILES:
                words.append(str(Path(folder, word[2:])))
        prefix = ["setarch", platform.machine(), "-R"] if fixed else []
        done = subprocess.run([*prefix, str(program), *words], capture_output=True)
        parts = [str(done.returncode).encode(), done.stdout, done.stderr]
        parts += [path.read_bytes() for path in sorted(Path(folder).iterdir())]
    lines = b"\n".join(parts).split(b"\n")
    return b"\n".join(line for line in lines if not line.lstrip().startswith(b'"seconds"'))


def differences(programs):
    """The commands whose outputs are not all the same, and how many bytes were compared."""
    differing = []
    size = 0
    for command in COMMANDS:
        digests = {}
        for name, program in programs.items():
            for run, fixed in (("drawn", False), ("drawn again", False), ("fixed", True)):
                output = output_of(program, command, fixed)
                size += len(output)
                digest = hashlib.sha256(output).hexdigest()
                digests.setdefault(digest, []).append(f"{name}, addresses {run}")
        if len(digests) > 1:
            groups = " | ".join("; ".join(runs) for runs in digests.values())
            differing.append(f"tandem {' '.join(command)}: {groups}")
    return differing, size


def build(name):
    """The program of one build; None if it cannot be built."""
    compiler, level = BUILDS[name]
    folder = ROOT / "build" / "same-bytes" / name
    flags = f"{level} -DNDEBUG" if level == "-O2" else level
    configure = ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja",
                 f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=None",
                 f"-DCMAKE_CXX_FLAGS={flags}", "-DTANDEM_BUILD_TESTS=OFF"]
    make = ["cmake", "--build", str(folder), "--target", "tandem_cli"]
    # With it ccache would give source paths to the compiler that depend on the folder's depth.
    environment = {key: value for key, value in os.environ.items() if key != "CCACHE_BASEDIR"}
    for words in (configure, make):
        if subprocess.run(words, stdout=sys.stderr, env=environment).returncode != 0:
            return None
    return folder / "src" / "cli" / "tandem"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", help="this one; nothing else is built unless asked for")
    parser.add_argument("--build", action="append", choices=BUILDS, help="may be given again [all]")
    arguments = parser.parse_args()
    wanted = arguments.build or ([] if arguments.program else list(BUILDS))
    for tool in ("setarch", *(BUILDS[name][0] for name in wanted)):
        if not shutil.which(tool):
            print(f"same-bytes: {tool} is not installed; run tools/packages.sh checks")
            return 5
    programs = {"program": arguments.program} if arguments.program else {}
    programs |= {name: build(name) for name in wanted}
    for name, program in programs.items():
        if program is None or not os.access(program, os.X_OK):
            print(f"same-bytes: {name} could not be built")
            return 1
    differing, size = differences(programs)
    for line in differing:
        print(f"differs: {line}")
    print(f"same-bytes: {len(COMMANDS) - len(differing)} of {len(COMMANDS)} commands gave the same "
          f"bytes in {3 * len(programs)} runs each, {size} bytes in all")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
