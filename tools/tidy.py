#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Style as a test: layers, sizes, names of places and the like, over all files of the tree.

Prints `file:line: observation; remedy (rule)` for each finding and exits with 1 if there are any.
What may include what is read from the tables of ARCHITECTURE.md. Exceptions stand in
tools/tidy_exceptions.txt, one `rule subject reason…` a line; one that is not needed is a finding.
"""

import argparse
import ast
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

import tidy_cpp

LINE_COLUMNS_MAX = 100
FILE_LINES_MAX = 350
TEST_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
FOLDER_SOURCES_MAX = 15
EXCEPTIONS = "tools/tidy_exceptions.txt"
LICENSE = "SPDX-License-Identifier: Apache-2.0"
OPEN_TO_ALL = {"base", "tandem"}
SYSTEM_FOLDERS = {"sys", "linux", "arpa", "net", "netinet", "asm"}
# Folders of kernels, which cannot ask where they run, and the words that would ask.
KERNEL_FOLDERS = {"ops", "comm"}
PLACES = re.compile(r"\b(?:host|sim|check)(?:/|::)|\bdynamic_cast\b|\btypeid\b")
UNFINISHED = re.compile(r"\b(?:TO[D]O|FI[X]ME|X[X]X)\b")
MACHINE_PATH = re.compile(r"(?<![\w.*])/(?:work|root|home/\w+|Users/\w+)/|/tmp/[b]uild")
TEST_NAME = re.compile(r"^test_\w+\.h$|_test\.(?:cc|h|py)$")
BINARY = {".npy", ".png", ".gz", ".pyc"}


class Finding(NamedTuple):
    path: str
    line: int
    rule: str
    subject: str  # what an exception names
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text} ({self.rule})"


class Source:
    """One file of the tree and what its path says about it."""

    def __init__(self, root, path):
        self.path = path
        self.parts = path.split("/")
        self.name = self.parts[-1]
        self.text = (root / path).read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.splitlines()
        self.is_cpp = self.name.endswith((".h", ".cc"))
        self.is_python = self.name.endswith(".py") or self._shebang("python")
        self.is_script = self.name.endswith((".sh", ".cmake")) or self._shebang("sh")
        self.is_script |= self.name in ("CMakeLists.txt", "Makefile")
        self.is_code = self.is_cpp or self.is_python or self.is_script
        self.is_test = self.parts[0] == "tests" or bool(TEST_NAME.search(self.name))
        in_src = self.parts[0] == "src"
        self.layer = (self.parts[1] if len(self.parts) > 2 else "facade") if in_src else None
        self.masked = tidy_cpp.mask(self.text) if self.is_cpp else self.text

    def _shebang(self, word):
        return bool(self.lines) and self.lines[0].startswith("#!") and word in self.lines[0]

    def finding(self, line, rule, text, subject=None):
        return Finding(self.path, line, rule, subject or self.path, text)


class Tables:
    """The include table and the third-party table of ARCHITECTURE.md."""

    def __init__(self, text):
        self.layers = {}
        self.libraries = {}
        for first, second, third in self._rows(text, "folder", "may include"):
            folder = "facade" if first.endswith("*.cc") else first.rstrip("/").split("/")[-1]
            self.layers[folder] = self._words(second)
        for first, second, third in self._rows(text, "library", "headers"):
            for prefix in self._words(second):
                self.libraries[prefix.rstrip("/")] = (first, self._words(third))

    @staticmethod
    def _words(cell):
        return {word.strip() for word in cell.split(",")} - {"–", "-", ""}

    @staticmethod
    def _rows(text, *head):
        inside = False
        for line in text.splitlines():
            cells = [cell.strip().replace("`", "") for cell in line.strip().strip("|").split("|")]
            if not line.lstrip().startswith("|") or len(cells) != 3:
                inside = False
            elif tuple(cells[: len(head)]) == head:
                inside = True
            elif inside and not re.fullmatch(r":?-+:?", cells[0]):
                yield cells


def check_text(source):
    if source.is_code:
        first = 1 if source.lines and source.lines[0].startswith("#!") else 0
        if LICENSE not in "".join(source.lines[first : first + 1]):
            yield source.finding(first + 1, "spdx", f"no license line; write {LICENSE}")
        limit = TEST_LINES_MAX if source.is_test else FILE_LINES_MAX
        if len(source.lines) > limit:
            text = f"{len(source.lines)} lines, the limit is {limit}; split it by noun"
            yield source.finding(limit + 1, "file-size", text)
    for number, line in enumerate(source.lines, 1):
        if source.is_code and len(line) > LINE_COLUMNS_MAX:
            text = f"{len(line)} columns, the limit is {LINE_COLUMNS_MAX}; wrap the line"
            yield source.finding(number, "line-length", text)
        if match := UNFINISHED.search(line):
            text = f"{match.group(0)}; finish it, or state the limit as a fact"
            yield source.finding(number, "unfinished", text)
        if match := MACHINE_PATH.search(line):
            text = f"path of one machine '{match.group(0)}…'; use a path relative to the project"
            yield source.finding(number, "machine-path", text)


def check_mode(source, root):
    is_program = bool(source.lines) and source.lines[0].startswith("#!")
    if is_program and not os.access(root / source.path, os.X_OK):
        text = "starts with #! and cannot be executed; chmod +x"
        yield source.finding(1, "mode", text)


def check_functions(source):
    found = []
    if source.is_cpp:
        found = list(tidy_cpp.functions(source.text))
    elif source.is_python:
        nodes = ast.walk(ast.parse(source.text, source.path))
        found = [
            tidy_cpp.Function(node.name, node.lineno, node.end_lineno - node.lineno + 1)
            for node in nodes
            if isinstance(node, ast.FunctionDef)
        ]
    for function in found:
        if function.lines > FUNCTION_LINES_MAX:
            text = f"{function.name} has {function.lines} lines, the limit is {FUNCTION_LINES_MAX}"
            subject = f"{source.path}:{function.name}".replace(" ", "")
            yield source.finding(function.line, "function-size", f"{text}; divide it", subject)


def check_default(source):
    if source.layer is None:
        return
    for match in re.finditer(r"\bdefault\s*:(?!:)", source.masked):
        line = tidy_cpp.line_of(source.masked, match.start())
        text = "default: hides new enumerators; name every case, or use if for other types"
        yield source.finding(line, "default-label", text)


def check_place(source):
    if source.layer not in KERNEL_FOLDERS or source.is_test:
        return
    for number, line in enumerate(source.masked.splitlines(), 1):
        if match := PLACES.search(line):
            text = f"'{match.group(0)}' asks where a kernel runs; use the verbs of machine/ alone"
            yield source.finding(number, "where-it-runs", text)


def check_layer_include(source, tables, line, name):
    folder = name.split("/")[0] if "/" in name else None
    wide = "everything" in tables.layers.get(source.layer, set())
    if folder is None and (source.layer == "facade" or wide):
        return
    if folder is None:
        text = f'"{name}" has no folder; write the path from src/, and leave the facade alone'
        yield source.finding(line, "include", text)
    elif folder not in tables.layers:
        text = f"{folder} is no layer of ARCHITECTURE.md; add it to the table, or correct the path"
        yield source.finding(line, "include", text)
    elif not source.is_test and folder != source.layer and folder not in OPEN_TO_ALL:
        allowed = tables.layers.get(source.layer, set())
        if "everything" not in allowed and folder not in allowed:
            text = f"{source.layer} may not include {folder}"
            yield source.finding(line, "include", f"{text}; see the layers in ARCHITECTURE.md")


def check_library_include(source, tables, line, name):
    prefix = name.split("/")[0]
    if "/" not in name or prefix in SYSTEM_FOLDERS | {"tandem"}:
        return
    if prefix not in tables.libraries:
        text = f"library {prefix} is not in ARCHITECTURE.md; add it to its table, or do without"
        yield source.finding(line, "third-party", text)
        return
    library, places = tables.libraries[prefix]
    inside = source.path.removeprefix("src/")
    allowed = any(inside.startswith((f"{p}/", f"{p}.", f"{p}_")) for p in places)
    allowed |= source.layer == "facade" and "facade" in places
    if not allowed and not source.is_test:
        text = f"{library} belongs in {', '.join(sorted(places))}; call it through these"
        yield source.finding(line, "third-party", text)


def check_public_include(source, line, mark, name):
    is_std = mark == "<" and re.fullmatch(r"[a-z0-9_]+|std(?:def|int)\.h", name)
    if not is_std and not name.startswith("tandem/"):
        text = f"public header includes {name}; only the standard library and tandem/ are allowed"
        yield source.finding(line, "public-header", text)


def check_includes(source, tables):
    if not source.is_cpp:
        return
    for line, mark, name in tidy_cpp.includes(source.text):
        if source.parts[0] == "include":
            yield from check_public_include(source, line, mark, name)
        elif source.layer is not None:
            quoted = mark == '"' and name.split("/")[0] not in tables.libraries
            check = check_layer_include if quoted else check_library_include
            yield from check(source, tables, line, name)


def check_folders(sources, tables):
    stems = {}
    for source in sources:
        if source.is_cpp and not source.is_test and source.parts[0] in ("src", "include"):
            stems.setdefault(os.path.dirname(source.path), set()).add(Path(source.path).stem)
    for folder, names in sorted(stems.items()):
        if len(names) > FOLDER_SOURCES_MAX:
            text = f"{len(names)} sources, the limit is {FOLDER_SOURCES_MAX}; make a folder of some"
            yield Finding(folder, 1, "folder-size", folder, text)
        layer = folder.split("/")[1] if folder.startswith("src/") else "base"
        if folder.count("/") == 1 and layer not in tables.layers:
            text = f"{layer} is no layer of ARCHITECTURE.md; add it to the table, or move it"
            yield Finding(folder, 1, "include", folder, text)


def list_files(root):
    """All files that people write; build folders and hidden ones don't count."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if name == ".ci" or not name.startswith((".", "build", "__pycache__"))
        )
        for name in sorted(files):
            path = os.path.relpath(os.path.join(folder, name), root)
            if not name.startswith(".") and os.path.splitext(name)[1] not in BINARY:
                yield path


def apply_exceptions(findings, text):
    """The findings that no line of the exceptions covers, and the lines that cover none."""
    unused = {}
    remaining = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split(None, 2)
        if not words or words[0].startswith("#"):
            continue
        if len(words) < 3:
            text = "an exception without its reason; write rule, subject, reason"
            remaining.append(Finding(EXCEPTIONS, number, "exception", EXCEPTIONS, text))
        unused[tuple(words[:2])] = number
    covering = set(unused)
    for finding in findings:
        key = (finding.rule, finding.subject)
        unused.pop(key, None)
        if key not in covering:
            remaining.append(finding)
    for (rule, subject), number in unused.items():
        text = f"the exception '{rule} {subject}' is no longer needed; remove the line"
        remaining.append(Finding(EXCEPTIONS, number, "exception", EXCEPTIONS, text))
    return remaining


def check_tree(root):
    """All findings under a folder that holds ARCHITECTURE.md, and how many files were read."""
    root = Path(root)
    tables = Tables((root / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    findings = []
    for table, head in ((tables.layers, "folder"), (tables.libraries, "library")):
        if not table:
            text = f"no table that starts with | {head} |; tidy reads the rules from it"
            findings.append(Finding("ARCHITECTURE.md", 1, "include", "ARCHITECTURE.md", text))
    sources = [Source(root, path) for path in list_files(root)]
    for source in sources:
        findings += check_text(source)
        findings += check_mode(source, root)
        findings += check_functions(source)
        findings += check_default(source)
        findings += check_place(source)
        findings += check_includes(source, tables)
    findings += check_folders(sources, tables)
    exceptions = root / EXCEPTIONS
    text = exceptions.read_text(encoding="utf-8") if exceptions.exists() else ""
    return sorted(apply_exceptions(findings, text)), len(sources)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=Path(__file__).resolve().parent.parent, help="the tree")
    root = parser.parse_args().root
    if not (Path(root) / "ARCHITECTURE.md").exists():
        print(f"tidy: {root} has no ARCHITECTURE.md; give the project's folder", file=sys.stderr)
        return 2
    findings, files = check_tree(root)
    for finding in findings:
        print(finding)
    print(f"tidy: {len(findings)} findings in {files} files")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
