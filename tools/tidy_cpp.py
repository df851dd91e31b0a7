# SPDX-License-Identifier: Apache-2.0
"""As much of C++ as tidy needs: text without comments and strings, includes, function extents."""

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<raw>(?:u8|u|U|L)?R"(?P<fence>[^()\\\s]{0,16})\(.*?\)(?P=fence)")
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<number>\b\d[\w.']*)
      | (?P<char>'(?:\\.|[^'\\\n])+')""",
    re.VERBOSE | re.DOTALL,
)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def mask(text):
    """The text with comments and the insides of literals blanked; offsets and lines stay."""

    def replace(match):
        token = match.group(0)
        if match.lastgroup == "number" or match.group("number"):
            return token
        if match.group("comment"):
            return _blank(token)
        return token[0] + _blank(token[1:-1]) + token[-1]

    return _TOKEN.sub(replace, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def includes(text):
    """(line, '<' or '"', name) of each include that is no comment."""
    masked = mask(text)
    for match in _INCLUDE.finditer(text):
        if "#" in masked[match.start() : match.end()]:
            yield line_of(text, match.start(2)), match.group(1), match.group(2)


class Function(NamedTuple):
    name: str
    line: int
    lines: int


def _flatten(head):
    """The head of a brace with each pair of parentheses emptied."""
    flat, depth = [], 0
    for c in head:
        depth -= c == ")"
        if depth == 0:
            flat.append(c)
        depth += c == "("
    return re.sub(r"\b(?:alignas|__attribute__|requires)\s*\(\)", " ", "".join(flat))


def _kind(head):
    """What a brace at namespace or class scope opens: a scope, a function or a value."""
    flat = _flatten(head).strip()
    if re.search(r"\b(?:namespace|extern|class|struct|union|enum)\b[^()]*$", flat):
        return "scope"
    if re.search(r"(?<![=!<>])=\s*(?:\[.*|[\w:<>,\s]*)$", flat, re.DOTALL):
        return "value"
    if "()" not in flat:
        return "value"
    has_initializers = re.search(r"\)\s*(?:noexcept\s*(?:\(\))?\s*)?:(?!:)", flat)
    if has_initializers and re.search(r"[,:]\s*[\w:<>]+$", flat):
        return "value"
    return "function"


def _name(head):
    match = re.search(r"(operator\s*[^\s(]+|[\w:~]+)\s*\(([^()]*)\)?", head)
    if not match:
        return "?"
    name, arguments = match.groups()
    if re.fullmatch(r"[A-Z_]{2,}", name):
        return f"{name}({' '.join(arguments.split())})"
    return name


def functions(text):
    """The functions of a file, found by their braces; what they contain is not looked at."""
    code = _DIRECTIVE.sub(lambda m: _blank(m.group(0)), mask(text))
    stack, head_start, parens = [], 0, 0
    for match in re.finditer(r"[{}();]", code):
        c, at = match.group(0), match.start()
        outside = not stack or stack[-1][0] == "scope"
        if c == "(":
            parens += 1
        elif c == ")":
            parens -= 1
        elif c == ";":
            if outside and parens == 0:
                head_start = at + 1
        elif c == "{":
            kind = _kind(code[head_start:at]) if outside and parens == 0 else "value"
            stack.append((kind, head_start, parens))
            parens = 0
            if kind == "scope":
                head_start = at + 1
        elif stack:
            kind, start, parens = stack.pop()
            head_start = start if kind == "value" else at + 1
            if kind == "function":
                head = code[start:at]
                label = re.match(r"(?:\s*(?:public|private|protected)\s*:(?!:))*\s*", head)
                line = line_of(code, start + label.end())
                yield Function(_name(head[label.end() :]), line, line_of(code, at) - line + 1)
