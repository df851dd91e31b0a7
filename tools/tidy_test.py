# SPDX-License-Identifier: Apache-2.0
"""Each rule of tidy finds its planted violation, there and nowhere else."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import tidy  # noqa: E402
import tidy_cpp  # noqa: E402

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
ARCHITECTURE = """# Architecture

| folder | may include | what it is |
|---|---|---|
| `include/tandem` | – | public |
| `base` | – | checks |
| `mx` | – | codecs |
| `gemm` | mx | product |
| `machine` | mx | interfaces |
| `comm` | machine | exchange |
| `ops` | comm, machine, mx | operators |
| `host` | gemm, machine, mx | workers |
| `sim` | machine | virtual time |
| `report` | – | tables |
| `cli` | – | command line |
| `src/*.cc` | everything | facade |

| library | headers | only in |
|---|---|---|
| Highway | `hwy/` | gemm, mx |
| Boost.Context | `boost/` | base/fiber |
| nlohmann-json | `nlohmann/` | report, facade |
| fmt | `fmt/` | cli, report |
| CLI11 | `CLI/` | cli |
| GoogleTest | `gtest/` | tests |
"""


def function_of(lines, head="void f() {"):
    return "\n".join([head, *["  g();"] * (lines - 2), "}"]) + "\n"


class TidyCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("ARCHITECTURE.md", ARCHITECTURE)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755 if text.startswith("#!") else 0o644)

    def findings(self):
        return [(f.rule, f.path, f.line) for f in tidy.check_tree(self.root)[0]]

    def expect(self, path, text, *expected):
        """A file with this text gives exactly these (rule, line)."""
        self.write(path, text)
        self.assertEqual(self.findings(), [(rule, path, line) for rule, line in expected])
        (self.root / path).unlink()


class Layers(TidyCase):
    def test_allowed_includes_are_clean(self):
        text = SPDX + '#include <sys/mman.h>\n#include <vector>\n#include "base/check.h"\n'
        text += '#include "comm/barrier.h"\n#include "ops/common/x.h"\n#include "tandem/types.h"\n'
        self.expect("src/ops/gather/kernel.cc", text)

    def test_each_layer_includes_only_what_the_table_says(self):
        self.expect("src/mx/a.cc", SPDX + '\n#include "gemm/x.h"\n', ("include", 3))
        self.expect("src/base/a.h", SPDX + '#include "mx/x.h"\n', ("include", 2))
        self.expect("src/host/a.cc", SPDX + '#include "sim/x.h"\n', ("include", 2))
        self.expect("src/cli/a.cc", SPDX + '#include "report/x.h"\n', ("include", 2))

    def test_the_facade_and_tests_include_everything(self):
        text = SPDX + '#include "host/x.h"\n#include "sim/x.h"\n'
        self.expect("src/tandem.cc", text)
        self.expect("src/world.cc", SPDX + '#include "world_impl.h"\n')
        self.expect("src/comm/barrier_test.cc", text)
        self.expect("src/comm/test_machine.h", text + "#include <gtest/gtest.h>\n")
        self.expect("tests/differential/a.cc", text)

    def test_includes_in_comments_do_not_count(self):
        self.expect("src/mx/a.cc", SPDX + '// #include "sim/x.h"\n/*\n#include "sim/x.h"\n*/\n')

    def test_unknown_folders_and_bare_names_are_found(self):
        self.expect("src/mx/a.cc", SPDX + '#include "e4m3.h"\n', ("include", 2))
        self.expect("src/mx/a.cc", SPDX + '#include "nowhere/a.h"\n', ("include", 2))
        self.write("src/nowhere/a.h", SPDX)
        self.assertEqual(self.findings(), [("include", "src/nowhere", 1)])

    def test_a_missing_table_is_a_finding(self):
        self.write("ARCHITECTURE.md", "# Architecture\n")
        self.assertEqual(self.findings(), [("include", "ARCHITECTURE.md", 1)] * 2)

    def test_libraries_stay_in_their_place(self):
        for path, name in (
            ("src/ops/a.cc", "hwy/highway.h"),
            ("src/base/check.cc", "boost/context/fiber.hpp"),
            ("src/base/fibers.cc", "boost/context/fiber.hpp"),
            ("src/cli/a.cc", "nlohmann/json.hpp"),
            ("src/tandem.cc", "fmt/format.h"),
            ("src/report/a.cc", "CLI/CLI.hpp"),
            ("src/mx/a.cc", "Eigen/Core"),
            ("src/mx/a.cc", "gtest/gtest.h"),
        ):
            self.expect(path, SPDX + f"#include <{name}>\n", ("third-party", 2))
        for path, name in (
            ("src/gemm/a.cc", "hwy/highway.h"),
            ("src/base/fiber.cc", "boost/context/fiber.hpp"),
            ("src/tandem.cc", "nlohmann/json.hpp"),
            ("src/report/a.cc", "fmt/format.h"),
            ("tests/cli/a.cc", "nlohmann/json.hpp"),
        ):
            self.expect(path, SPDX + f"#include <{name}>\n")
        self.expect("src/gemm/a.cc", SPDX + '#include "hwy/highway.h"\n')
        self.expect("src/plain.cc", SPDX + '#include "hwy/highway.h"\n', ("third-party", 2))

    def test_public_headers_include_only_the_standard_library(self):
        path = "include/tandem/a.h"
        self.expect(path, SPDX + '#include <vector>\n#include <stdint.h>\n#include "tandem/b.h"\n')
        for name in ("<sys/mman.h>", "<fmt/core.h>", '"base/check.h"', "<unistd.h>"):
            self.expect(path, SPDX + f"#include {name}\n", ("public-header", 2))

    def test_kernels_cannot_ask_where_they_run(self):
        for word in ("host::Machine m;", "f<sim::Core>();", "dynamic_cast<X*>(p)", "typeid(core)"):
            self.expect("src/ops/a.cc", SPDX + "\n" + word + "\n", ("where-it-runs", 3))
        self.expect("src/comm/a.cc", SPDX + "check::f();\n", ("where-it-runs", 2))
        self.expect("src/comm/a.cc", SPDX + "// as the host:: and sim:: do\nauto x = simd::f();\n")
        self.expect("src/host/a.cc", SPDX + "host::f();\n")


class Texts(TidyCase):
    def test_code_starts_with_its_license(self):
        for path in ("src/mx/a.cc", "tools/a.py", "tools/a.sh", "src/CMakeLists.txt", "Makefile"):
            self.expect(path, "\n", ("spdx", 1))
        self.expect("tools/a.py", "#!/usr/bin/env python3\nx = 1\n", ("spdx", 2))
        self.expect("tools/a", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n")

    def test_lines_have_100_columns(self):
        self.expect("src/mx/a.cc", SPDX + "x" * 100 + "\n" + "é" * 100 + "\n")
        self.expect("src/mx/a.cc", SPDX + "x" * 101 + "\n", ("line-length", 2))
        self.expect("docs/a.md", "x" * 200 + "\n")

    def test_programs_can_be_executed(self):
        self.write("tools/a", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n")
        self.assertEqual(self.findings(), [])
        (self.root / "tools/a").chmod(0o644)
        self.assertEqual(self.findings(), [("mode", "tools/a", 1)])

    def test_unfinished_work_does_not_land(self):
        for word in ("TO" + "DO", "FIX" + "ME", "XX" + "X"):
            self.expect("src/mx/a.cc", SPDX + f"// {word}: later\n", ("unfinished", 2))
            self.expect("docs/a.md", f"{word}\n", ("unfinished", 1))
        self.expect("src/mx/a.cc", SPDX + 'mkdtemp("a-' + "XX" + 'XXXX");\n')

    def test_paths_of_one_machine_are_found(self):
        for path in ("/wo" + "rk/main/x", "/ho" + "me/me/x", "/tmp/bu" + "ild-x", "/ro" + "ot/x"):
            self.expect("docs/a.md", f"see {path}\n", ("machine-path", 1))
        self.expect("docs/a.md", "net/work/x and /tmp/x\n")

    def test_switches_have_no_default(self):
        self.expect("src/mx/a.cc", SPDX + "\n  default:\n", ("default-label", 3))
        self.expect("src/mx/a.cc", SPDX + "A() = default;  // default: none\n")
        self.expect("tests/a.cc", SPDX + "default:\n")


class Sizes(TidyCase):
    def test_files_and_tests_have_their_limits(self):
        self.expect("src/mx/a.cc", SPDX + "\n" * 349)
        self.expect("src/mx/a.cc", SPDX + "\n" * 350, ("file-size", 351))
        self.expect("src/mx/a_test.cc", SPDX + "\n" * 499)
        self.expect("src/mx/a_test.cc", SPDX + "\n" * 500, ("file-size", 501))

    def test_functions_have_70_lines(self):
        self.expect("src/mx/a.cc", SPDX + function_of(70))
        self.expect("src/mx/a.cc", SPDX + function_of(71), ("function-size", 2))
        body = "def f():\n" + "    g()\n" * 70
        body = SPDX.replace("//", "#") + body
        self.expect("tools/a.py", body, ("function-size", 2))

    def test_folders_have_15_sources(self):
        for i in range(15):
            self.write(f"src/mx/x{i}.cc", SPDX)
            self.write(f"src/mx/x{i}.h", SPDX)
            self.write(f"src/mx/x{i}_test.cc", SPDX)
        self.assertEqual(self.findings(), [])
        self.write("src/mx/y.h", SPDX)
        self.assertEqual(self.findings(), [("folder-size", "src/mx", 1)])

    def test_build_and_hidden_folders_do_not_count(self):
        for folder in ("build/dev", ".cache", "src/__pycache__"):
            self.write(f"{folder}/a.cc", "x" * 200)
        self.assertEqual(self.findings(), [])


class Exceptions(TidyCase):
    def test_an_exception_covers_its_rule_and_subject_alone(self):
        self.write("src/mx/a.cc", SPDX + "x" * 101 + "\n")
        self.write("src/mx/b.cc", SPDX + "x" * 101 + "\n")
        self.write(tidy.EXCEPTIONS, "# rule subject reason\nline-length src/mx/a.cc a long table\n")
        self.assertEqual(self.findings(), [("line-length", "src/mx/b.cc", 2)])

    def test_a_function_is_named_behind_its_file(self):
        self.write("src/mx/a.cc", SPDX + function_of(71))
        self.write(tidy.EXCEPTIONS, "function-size src/mx/a.cc:f one table in order\n")
        self.assertEqual(self.findings(), [])

    def test_an_exception_that_is_not_needed_or_has_no_reason_is_found(self):
        self.write("src/mx/a.cc", SPDX + "x" * 101 + "\n")
        self.write(tidy.EXCEPTIONS, "line-length src/mx/a.cc\nspdx src/mx/a.cc because\n")
        path = tidy.EXCEPTIONS
        self.assertEqual(self.findings(), [("exception", path, 1), ("exception", path, 2)])


class Functions(unittest.TestCase):
    def found(self, text):
        return [(f.name, f.lines) for f in tidy_cpp.functions(text)]

    def test_functions_are_found_in_scopes_but_not_inside_functions(self):
        text = """namespace a::b {
class X : public Y<int> {
 public:
  X(int a)
      : a_(a), b_{1} {
  }
  int g() const {
    auto f = [&] {
      return 1;
    };
    return f();
  }
  int a_ = 0;
  int b_{};
};
}
"""
        self.assertEqual(self.found(text), [("X", 3), ("g", 6)])

    def test_values_and_types_are_no_functions(self):
        text = """constexpr std::array<int, 2> kA{
    1, 2};
const auto kB = [] {
  return f();
}();
enum class E { a, b };
struct S {
  int x = f(1);
};
int kC[] = {
    1};
"""
        self.assertEqual(self.found(text), [])

    def test_braces_in_comments_literals_and_directives_do_not_count(self):
        text = r"""#define X {\
  {
void f() {  // {
  /* } */ g('{', "}\"{", R"x(}})x", 1'000);
}
"""
        self.assertEqual(self.found(text), [("f", 3)])

    def test_operators_templates_and_tests_have_their_names(self):
        text = "bool operator==(A a, B b) { return true; }\n"
        text += "template <typename T = int>\nauto h(T x) -> std::vector<T> {\n}\n"
        text += "TEST(Suite, Name) {\n}\n"
        self.assertEqual(self.found(text), [("operator==", 1), ("h", 3), ("TEST(Suite, Name)", 2)])


class ThisProject(unittest.TestCase):
    def test_the_tables_name_every_layer_and_library(self):
        root = Path(__file__).resolve().parent.parent
        tables = tidy.Tables((root / "ARCHITECTURE.md").read_text(encoding="utf-8"))
        self.assertEqual(tables.layers["ops"], {"comm", "machine", "plan", "mx"})
        self.assertEqual(tables.layers["base"], set())
        self.assertEqual(tables.layers["facade"], {"everything"})
        folders = {path.name for path in (root / "src").iterdir() if path.is_dir()}
        self.assertLessEqual(folders, set(tables.layers))
        self.assertEqual(tables.libraries["boost"], ("Boost.Context", {"base/fiber"}))


if __name__ == "__main__":
    unittest.main()
