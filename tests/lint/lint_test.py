"""Every rule of script/lint can fail: each test plants one offence in a small tree and looks for it."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLOCK = "auto now() { return std::chrono::steady_clock::now(); }\n"


def listing(*headers):
    lines = "".join(f"    {header}\n" for header in headers)
    return f"set(WAYBILL_PUBLIC_HEADERS\n    # Keep sorted.\n{lines})\n"


class Lint(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        self.write(".clang-format", (ROOT / ".clang-format").read_text())

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def lint(self, *arguments):
        run = subprocess.run(
            [sys.executable, os.fspath(ROOT / "script/lint"), "--root", os.fspath(self.root),
             *arguments], capture_output=True, text=True)
        self.assertIn(run.returncode, (0, 1), run.stderr)
        self.assertEqual(run.returncode == 0, run.stdout == "", run.stdout)
        return run.stdout.splitlines()

    def expect(self, rule, *starts):
        found = self.lint("--rule", rule)
        self.assertEqual(len(found), len(starts), found)
        for line, start in zip(found, starts):
            self.assertTrue(line.startswith(start), f"{line}\n  expected {start}")

    def test_a_clean_tree_is_silent(self):
        self.write("include/CMakeLists.txt", listing("waybill/a.hpp"))
        self.write("include/waybill/a.hpp", "#pragma once\n\nstruct A {};\n")
        self.write("src/core/CMakeLists.txt", "waybill_room(core\n    SOURCES\n        a.cpp)\n")
        self.write("src/core/a.cpp", "#include \"waybill/a.hpp\"\n\n#include <vector>\n")

        self.assertEqual(self.lint(), [])

    def test_together(self):
        self.write("src/core/CMakeLists.txt", "waybill_room(core\n    SOURCES\n        a.cpp\n"
                   "        b.cpp)\nwaybill_room(other\n    SOURCES\n        c.cpp)\n")
        unnamed = "namespace waybill {{\nnamespace {{\n\n{}\n}}  // namespace\n}}  // namespace waybill\n"
        shared = "using Kind = Command::Kind;\nint f(int a);\n[[noreturn]] void stop(int a);\n"
        self.write("src/core/a.cpp", unnamed.format(shared + "constexpr int kMax = 1;\n"))
        self.write("src/core/c.cpp", unnamed.format(shared + "constexpr int kMax = 1;\n"))
        self.write("src/core/b.cpp", unnamed.format(
            "using Kind = Command::Kind;\nint f(char b);\nstruct Row {};\n"))
        self.expect("together")

        self.write("src/core/b.cpp", unnamed.format(
            "using Kind = Read::Kind;\nint f(int b);\nconst int kMax{2};\n"
            "[[noreturn]] void stop(int b);\n"))
        self.expect("together", "src/core/b.cpp:4: Kind is in src/core/a.cpp too",
                    "src/core/b.cpp:5: f is in", "src/core/b.cpp:6: kMax is in",
                    "src/core/b.cpp:7: stop is in")

    def test_format(self):
        self.write("src/core/a.cpp", "int   f( );\n")
        self.expect("format", "src/core/a.cpp:1: is not formatted")

        self.lint("--fix", "--rule", "format")
        self.assertEqual((self.root / "src/core/a.cpp").read_text(), "int f();\n")

    def test_core_includes_no_driver(self):
        for number, header in enumerate(("sqlite3.h", "libpq-fe.h", "hiredis/hiredis.h", "amqp.h",
                                         "boost/asio.hpp", "curl/curl.h")):
            self.write(f"src/core/f{number}.cpp", f"#include <{header}>\n")
        self.write("include/waybill/store.hpp", "#pragma once\n#include <sqlite3.h>\n")
        self.write("src/store/sqlite/store.cpp", "#include <sqlite3.h>\n")
        self.expect("includes", "include/waybill/store.hpp:2: core includes the driver header",
                    *(f"src/core/f{n}.cpp:1: core includes the driver header" for n in range(6)))

    def test_stores_never_include_each_other(self):
        self.write("src/store/memory/rows.hpp", "#pragma once\n")
        self.write("src/store/redis/a.cpp", '#include "store/memory/rows.hpp"\n')
        self.write("src/store/redis/b.cpp", '#include "../memory/rows.hpp"\n')
        self.write("src/store/redis/c.cpp", "#include <waybill/memory.hpp>\n")
        self.write("src/store/redis/d.cpp", '#include "core/engine.hpp"\n#include "store/redis/e.hpp"\n')
        self.expect("includes", *(f"src/store/redis/{name}.cpp:1: store/redis includes its sibling"
                                  for name in "abc"))

    def test_arrows_point_down(self):
        self.write("src/core/a.cpp", '#include "store/memory/rows.hpp"\n#include "server/wiring.hpp"\n')
        self.write("src/core/b.cpp", '#include "../cli/main.hpp"\n')
        self.write("src/store/memory/a.cpp", '#include "transport/http_out/client.hpp"\n')
        self.write("src/server/a.cpp", '#include "store/memory/rows.hpp"\n#include "cli/main.hpp"\n')
        self.write("src/cli/a.cpp", '#include "server/wiring.hpp"\n')
        self.expect("includes", "src/core/a.cpp:1: core includes store/memory",
                    "src/core/a.cpp:2: core includes server", "src/core/b.cpp:1: core includes cli",
                    "src/server/a.cpp:2: server includes cli",
                    "src/store/memory/a.cpp:1: store/memory includes its sibling")

    def test_nothing_in_production_includes_the_test_kit(self):
        self.write("src/testkit/kit.cpp", '#include "waybill/memory.hpp"\n')
        self.write("src/store/memory/a.cpp", '#include "waybill/testkit/kit.hpp"\n')
        self.write("include/waybill/waybill.hpp", '#pragma once\n#include "waybill/testkit.hpp"\n')
        self.expect("includes", "include/waybill/waybill.hpp:2: core includes testkit",
                    "src/store/memory/a.cpp:1: store/memory includes testkit")

    def test_public_headers_include_no_private_one(self):
        self.write("src/core/engine.hpp", "#pragma once\n")
        self.write("include/waybill/a.hpp", '#pragma once\n#include "core/engine.hpp"\n')
        self.expect("includes", "include/waybill/a.hpp:2: a public header includes the private")

    def test_every_store_is_in_the_conformance_suite(self):
        self.write("src/store/memory/store.cpp", "\n")
        self.write("src/store/sqlite/store.cpp", "\n")
        self.write("tests/conformance/store/stores.cpp", "#include <sqlite>\n// waybill::memory::open()\n")
        self.expect("conformance", "src/store/sqlite/store.cpp:1: store sqlite is not in the")

    def test_snippets_equal_their_source(self):
        self.write("examples/a.cpp", "int main() {\n    // [body]\n    int x = 1;\n    // [/body]\n}\n")
        self.write("README.md", "<!-- snippet: examples/a.cpp#body -->\n```cpp\nint x = 2;\n```\n"
                                "<!-- snippet: examples/a.cpp#none -->\n```cpp\n```\n"
                                "<!-- snippet: examples/b.cpp#body -->\n```cpp\n```\n"
                                "<!-- snippet: examples/a.cpp#body -->\nno fence\n"
                                "<!-- snippet examples/a.cpp -->\n")
        found = self.lint("--rule", "snippets")
        self.assertEqual([line.split(":")[1] for line in found], ["1", "5", "8", "11", "13"], found)

        self.write("README.md", "<!-- snippet: examples/a.cpp#body -->\n```cpp\nint x = 2;\n```\n")
        self.assertEqual(self.lint("--fix", "--rule", "snippets"), [])
        self.assertIn("```cpp\nint x = 1;\n```\n", (self.root / "README.md").read_text())

    def test_seams(self):
        self.write("src/core/a.cpp", CLOCK + "std::random_device device;\nstd::jthread thread;\n"
                   "void f() { std::this_thread::sleep_for(1s); }\n")
        self.write("tests/unit/a.cpp", "std::thread thread;\n")
        for door in ("src/core/runtime", "tests/support", "bench", "examples"):
            self.write(f"{door}/a.cpp", CLOCK)
        self.write("src/core/b.cpp", "// std::thread is only mentioned\nauto s = \"sleep_for\";\n"
                   "std::thread::id id;\n")
        self.write("src/core/c.cpp", CLOCK.replace("\n", "  // lint: allow(seams) a reason\n"))
        self.expect("seams", "src/core/a.cpp:1: reads a clock", "src/core/a.cpp:2: draws real",
                    "src/core/a.cpp:3: starts a thread", "src/core/a.cpp:4: sleeps",
                    "tests/unit/a.cpp:1: starts a thread")

    def test_an_exemption_needs_a_reason(self):
        self.write("src/core/a.cpp", CLOCK.replace("\n", "  // lint: allow(seams)\n"))
        self.expect("seams", "src/core/a.cpp:1: reads a clock")

    def test_size(self):
        self.write("src/core/a.cpp", "\n" * 400)
        self.write("src/core/b.cpp", "\n" * 401)
        self.expect("size", "src/core/b.cpp:401: has 401 lines")

    def test_pragma_once(self):
        self.write("src/core/a.hpp", "struct A {};\n")
        self.expect("pragma-once", "src/core/a.hpp:1: can be included twice")

    def test_public_header_list_equals_the_tree(self):
        self.write("include/CMakeLists.txt", listing("waybill/a.hpp", "waybill/gone.hpp"))
        self.write("include/waybill/a.hpp", "#pragma once\n")
        self.write("include/waybill/new.hpp", "#pragma once\n")
        self.expect("public-headers", "include/CMakeLists.txt:4: lists waybill/gone.hpp",
                    "include/waybill/new.hpp:1: is a public header that is not listed")

    def test_sources_are_listed_and_nothing_is_globbed(self):
        self.write("src/core/CMakeLists.txt", "waybill_room(core SOURCES engine/a.cpp)\n# b.cpp\n")
        self.write("src/core/engine/a.cpp", "\n")
        self.write("src/core/b.cpp", "\n")
        self.write("tests/CMakeLists.txt", "file(GLOB sources *.cpp)\n")
        self.expect("cmake-lists", "src/core/b.cpp:1: is in no CMakeLists.txt",
                    "tests/CMakeLists.txt:1: globs for files")

    def test_leftovers(self):
        self.write("a.md", "TO" "DO: more\nfine\n")
        self.write("b.cpp", "// FIX" "ME\n")
        self.write("c.sh", "cd /ho" "me/me/waybill\n")
        self.write("d.md", "see https://example.org/ho" "me/x and ../wo" "rk/x\n")
        self.expect("leftovers", "a.md:1: leaves work behind", "b.cpp:1: leaves work behind",
                    "c.sh:1: names a path of one machine")


if __name__ == "__main__":
    unittest.main()
