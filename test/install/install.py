# SPDX-License-Identifier: Apache-2.0
"""Installs a build into an empty place and uses it as a stranger would: install.py BUILD SOURCE."""
import os
import re
import shutil
import sys
import textwrap
import unittest

from installed import SOURCE, STRICT, Installed, run

sys.path.insert(0, str(SOURCE / "tools/doc"))
import filter as reference  # noqa: E402

# A program in a page, and after it, perhaps after how to compile it, what it prints.
PROGRAM = re.compile(r"^```c\n(.*?)^```\n\n(?:    .*\n\n)?```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What an example prints, in the comment at its end.
PRINTS = re.compile(r"^/\* prints\n(.*?)^\*/$", re.MULTILINE | re.DOTALL)
WITHOUT_EXAMPLE = {"index_items_c_only"}
EINSUM_TESTS = ["einsum", "einsum_arrays", "einsum_cache", "einsum_cases", "einsum_misuse", "einsum_plan"]


class Use(Installed):
    def test_programs_as_printed(self):
        pages = [SOURCE / "README.md", *sorted((SOURCE / "tools/doc/guide").glob("*.md"))]
        shown = [(page, *found) for page in pages for found in PROGRAM.findall(page.read_text())]
        self.assertGreater(len(shown), 10)
        for page, code, output in shown:
            with self.subTest(page.name):
                source = self.root / f"{page.stem}.c"
                source.write_text(code)
                names = f"-ffile-prefix-map={self.root}/="
                program = self.build(page.stem, source, names, *self.flags("weft-einsum"), "-pthread")
                self.assertEqual(run(program, env=self.environment), output)

    def test_examples(self):
        examples = SOURCE / "tools/doc/examples"
        for source in sorted(examples.glob("*.c")):
            with self.subTest(source.name):
                program = self.build(source.stem, source, *self.flags("weft"), "-lm")
                printed = PRINTS.search(source.read_text()).group(1)
                self.assertEqual(run(program, env=self.environment), textwrap.dedent(printed))

    def test_every_family_has_an_example(self):
        for name in ["ops", "elementwise", "shape", "linear", "nn", "conv", "statistics", "index", "region"]:
            header = SOURCE / f"include/weft/{name}.h"
            shown = set(re.findall(r"@include (\w+)\.c", reference.convert(header, SOURCE / "tools/doc/examples")))
            groups = set(re.findall(r"@defgroup (\w+)", reference.convert(header, SOURCE / "tools/doc/examples")))
            with self.subTest(name):
                self.assertTrue(shown)
                self.assertEqual(groups - shown - WITHOUT_EXAMPLE, set())

    def test_runtime_alone(self):
        program = self.build("runtime", SOURCE / "test/install/runtime.c", *self.flags("weft-rt"))
        self.assertEqual(run(program, env=self.environment), "1 3 5 2 4 6 INVALID_ARGUMENT\n")
        needed = run("ldd", program, env=self.environment)
        self.assertIn("libweft-rt.so", needed)
        self.assertNotRegex(needed, r"LLVM|libweft\.so|libweft-llvm")

    def test_einsum_out_of_tree(self):
        einsum = SOURCE / "extensions/einsum"
        flags = ["-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE", f"-I{einsum}/include", *self.flags("weft"), "-lm",
                 "-pthread"]
        library = self.build("libstranger.so", "-shared", "-fPIC", *einsum.rglob("*.c"), *flags)
        shared = [SOURCE / "test/einsum/einsum.c", SOURCE / "test/support.c"]
        common = [*shared, f"-I{SOURCE}", library, *flags, "-lcmocka"]
        for name in EINSUM_TESTS:
            with self.subTest(name):
                program = self.build(name, SOURCE / f"test/unit/{name}.c", *common)
                cases = [SOURCE / "test/einsum/cases.txt"] if name == "einsum_cases" else []
                run(program, *cases, env=self.environment | {"LD_LIBRARY_PATH": f"{self.root}:{self.libraries}"})

    def test_plugin_out_of_tree(self):
        self.build("sample.so", "-shared", "-fPIC", SOURCE / "test/plugin/sample.c", *self.flags("weft"))

    def test_documents(self):
        """The guide, the grammar and the manual page are there, and say what is so."""
        documents = self.prefix / "share/doc/weft"
        for page in ["README.md", "extensions/README.md", "einsum/README.md",
                     *(f"guide/{page.name}" for page in (SOURCE / "tools/doc/guide").glob("*.md"))]:
            self.assertTrue((documents / page).is_file(), page)
        named = re.findall(r"`([a-z]+(?:/[\w.]+)*)`", (documents / "README.md").read_text())
        self.assertGreater(len(named), 5)
        for name in named:
            self.assertTrue(any((self.prefix / place).exists() for place in [f"share/doc/weft/{name}", name]) or
                            list(self.prefix.glob(f"lib/**/pkgconfig/{name}.pc")), name)
        grammar = (documents / "guide/text.md").read_text()
        example = textwrap.dedent(re.search(r"^    weft 0\.1\n(?:    .*\n)+", grammar, re.MULTILINE).group())
        printed = run(self.prefix / "bin/weft", "opt", "-", "--passes", "", input=example)
        self.assertEqual(run(self.prefix / "bin/weft", "opt", "-", "--passes", "", input=printed), printed)
        manual = run("man", "--warnings", "-l", self.prefix / "share/man/man1/weft.1",
                     env=os.environ | {"MANWIDTH": "160"}) if shutil.which("man") else None
        for command in ["einsum", "run", "opt", "view", "info"]:
            said = run(self.prefix / "bin/weft", "help", command)
            source = (self.prefix / "share/man/man1/weft.1").read_text()
            self.assertIn(said.splitlines()[0], source.replace("\\-", "-"))
            for part in [".SH ENVIRONMENT", ".B WEFT_ISA", "512M, 4G"]:
                self.assertIn(part, source)
            if manual is not None:
                self.assertIn(said.splitlines()[2], manual)

    def test_every_op_is_in_the_grammar(self):
        kinds = {"INT": "integer", "STRING": "text", "DTYPE": "dtype", "EXTENTS": "extents", "INTS": "integers",
                 "EXTENT": "extent", "DATA": "data", "BOOL": "bool", "REGION": "region", "FLOAT": "real"}
        schemas = {name: ", ".join(f"`{attribute}` {kinds[kind]}"
                                   for attribute, kind in re.findall(r'\{"(\w+)", WEFT_ATTR_(\w+)\}', rows))
                   for name, rows in re.findall(r"^SCHEMA\((\w+), (.*?)SCHEMA_END\);", (SOURCE / "lib/graph/op.c").read_text(),
                                                re.MULTILINE | re.DOTALL)}
        ops = {name: (count.replace("-1", "1 or more"), schemas[schema]) for name, count, schema in re.findall(
            r"^WEFT_OP\((\w+), (-?\d+), (\w+),", (SOURCE / "lib/graph/op.def").read_text(), re.MULTILINE)}
        told = {}
        for names, count, attributes in re.findall(r"^\| (`.*?) \| ([^|]*) \| (.*?) ?\|$",
                                                   (SOURCE / "tools/doc/guide/text.md").read_text(), re.MULTILINE):
            for name in re.findall(r"`(\w+)`", names):
                self.assertNotIn(name, told)
                told[name] = (count, attributes)
        self.assertEqual(told, ops)

    def test_headers_alone(self):
        headers = sorted((self.prefix / "include/weft").glob("*.h"))
        self.assertGreater(len(headers), 10)
        for header in headers:
            for compiler, language, standard in [("cc", "c", "c17"), ("g++", "c++", "c++17")]:
                with self.subTest(header=header.name, language=language):
                    run(compiler, "-x", language, f"-std={standard}", *STRICT, "-fsyntax-only",
                        f"-I{self.prefix}/include", "-", input=f"#include <weft/{header.name}>\n")

    def compile(self, compiler, *flags):
        shapes = SOURCE / "test/install/shapes.c"
        return run(compiler, "-std=c17", *STRICT, "-Wconversion", "-fsyntax-only", f"-I{self.prefix}/include", *flags,
                   shapes)

    def test_shapes_of_numbers(self):
        for compiler in filter(shutil.which, ["gcc", "clang", "clang-19"]):
            with self.subTest(compiler):
                self.assertEqual(self.compile(compiler), "")
            for wrong, complaint in [("1.5", "double"), ('"4"', r"char \*"), ("&n", r"weft_extent \*"),
                                     ("4, " * 15 + "4", "")]:
                with self.subTest(f"{compiler}: {wrong}"), self.assertRaisesRegex(AssertionError, complaint):
                    self.compile(compiler, f"-DWRONG={wrong}")

    def test_command_finds_its_libraries(self):
        plain = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
        self.assertRegex(run(self.prefix / "bin/weft", "--version", env=plain), r"^weft \d+\.\d+\.\d+\n$")
        self.assertRegex(run(self.prefix / "bin/weft", "info", env=plain), r"\ntarget +llvm ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
