# SPDX-License-Identifier: Apache-2.0
"""Arrays in .npy and .npz files, against numpy: files.py WEFT."""
import os
import resource
import signal
import stat
import subprocess
import warnings
import zipfile

import numpy

from support import FAILED, GRAPH, MISUSED, OK, WEFT, Command, main

DTYPES = {"bool": "?", "u8": "u1", "i32": "i4", "u32": "u4", "i64": "i8", "bf16": "V2", "f16": "f2", "f32": "f4",
          "f64": "f8", "c64": "c8", "c128": "c16"}

COPY = """weft 0.1
graph {
  %x = input() {name = "x", dtype = DTYPE, shape = [2, 3]}
  %w = input() {name = "w", dtype = DTYPE, shape = [2, 3]}
  %0 = permute(%x) {axes = [1, 0]}
  return y = %0, "same w" = %w
}
"""


def values(dtype, seed):
    data = numpy.random.default_rng(seed).integers(0, 256, 6 * numpy.dtype(DTYPES[dtype]).itemsize, "u1")
    return (data % 2 if dtype == "bool" else data).view(DTYPES[dtype]).reshape(2, 3)


class Dtypes(Command):
    def setUp(self):
        super().setUp()
        for dtype in DTYPES:
            (self.folder / f"{dtype}.weft").write_text(COPY.replace("DTYPE", dtype))

    def same(self, found, expected):
        self.assertEqual((found.dtype.itemsize, found.shape), (expected.dtype.itemsize, expected.shape))
        self.assertEqual(found.tobytes(), expected.tobytes())

    def check(self, dtype, x, w, *arguments):
        self.prints("", "run", f"{dtype}.weft", *arguments, "-o", "out.npz", "-o", "y=y.npy", "--backend", "ref")
        with numpy.load(self.folder / "out.npz") as out:
            self.assertEqual(out.files, ["y", "same w"])
            self.same(out["y"], x.T)
            self.same(out["same w"], w)
            self.assertEqual(out["y"].dtype, numpy.dtype(DTYPES[dtype]))
        self.same(numpy.load(self.folder / "y.npy"), x.T)

    def test_archives(self):
        for dtype in DTYPES:
            x, w = values(dtype, 1), values(dtype, 2)
            for save in [numpy.savez, numpy.savez_compressed]:
                save(self.folder / "in.npz", x=x, w=w, more=w)
                for more in [[], ["--deflate"]]:
                    with self.subTest(dtype, save=save.__name__, more=more):
                        self.check(dtype, x, w, "in.npz", *more)

    def test_single_files(self):
        for dtype in DTYPES:
            x, w = values(dtype, 3), values(dtype, 4)
            numpy.save(self.folder / "x.npy", numpy.asfortranarray(x))
            numpy.savez(self.folder / "some.npz", other=w)
            with self.subTest(dtype):
                self.check(dtype, x, w, "x=x.npy", "w=some.npz:other")

    def test_big_endian(self):
        for dtype in DTYPES:
            if dtype == "bf16":
                continue
            x, w = values(dtype, 5), values(dtype, 6)
            numpy.save(self.folder / "x.npy", x.astype(x.dtype.newbyteorder(">")))
            numpy.save(self.folder / "w.npy", w)
            with self.subTest(dtype):
                self.check(dtype, x, w, "x=x.npy", "w=w.npy")

    def test_versions(self):
        x = values("f32", 7)
        numpy.save(self.folder / "w.npy", x)
        for version in [(1, 0), (2, 0), (3, 0)]:
            with self.subTest(version=version):
                with open(self.folder / "x.npy", "wb") as file:
                    numpy.lib.format.write_array(file, x, version)
                self.check("f32", x, x, "x=x.npy", "w=w.npy")


class Names(Command):
    def setUp(self):
        super().setUp()
        x, w = numpy.ones((2, 3), "f4"), numpy.array([1, 2, 3], "f4")
        numpy.savez(self.folder / "all.npz", x=x, w=w)
        numpy.savez(self.folder / "x.npz", x=x)
        numpy.savez(self.folder / "other.npz", a=x, b=w)
        numpy.savez(self.folder / "wide.npz", x=x.astype("f8"), w=w)

    def test_mixed(self):
        expected = "y =\n[[2. 4. 6.]\n [2. 4. 6.]]\ntotal =\n[12. 12.]\n"
        for given in [["all.npz"], ["x.npz", "w=all.npz"], ["x=other.npz:a", "w=other.npz:b"],
                      ["wide.npz", "x=x.npz"], ["x=other.npz:a.npy", "all.npz"]]:
            with self.subTest(given):
                self.prints(expected, "run", "g.weft", *given)
        self.prints("[[1. 2. 3.]\n [1. 2. 3.]]\n", "einsum", "ij,j->ij", "all.npz:x", "all.npz:w")

    def test_misuse(self):
        self.refuses(MISUSED, "run: input 'w' is missing; the graph's inputs: x, w", "run", "g.weft", "x.npz")
        self.refuses(MISUSED, "run: input 'x' is given by two archives", "run", "g.weft", "all.npz", "x.npz")
        self.refuses(MISUSED, "run: other.npz has none of the graph's inputs; its arrays: a, b",
                     "run", "g.weft", "other.npz", "all.npz")
        self.refuses(MISUSED, "run: a single array is written to an .npy file, not to 'y.npz'",
                     "run", "g.weft", "all.npz", "-o", "y=y.npz")
        self.refuses(MISUSED, "einsum: a single array is written to an .npy file, not to 'y.npz'",
                     "einsum", "i->i", "w.npy", "-o", "y.npz")
        self.refuses(MISUSED, "einsum: all.npz has several arrays; write all.npz:NAME; its arrays: x, w",
                     "einsum", "i->i", "all.npz")

        for arguments in [["run", "g.weft", "all.npz", "w=all.npz:v"], ["einsum", "i->i", "all.npz:v"]]:
            self.refuses(MISUSED, f"{arguments[0]}: all.npz has no array 'v'; its arrays: x, w", *arguments)
        for arguments in [[], ["-o", "y=y.npy", "-o", "total=t.npy"]]:
            self.refuses(MISUSED, "run: --deflate is for what goes into an archive, but no -o names one: OUT.npz",
                         "run", "g.weft", "all.npz", "--deflate", *arguments)

    def test_names_of_members(self):
        """No output is written where an archive that is unpacked would put it elsewhere."""
        for name, sentence in [("../../up", "'../../up' is a path, which cannot be the name of a member"),
                               ("a/b", "'a/b' is a path, which cannot be the name of a member"),
                               ("..", "'..' is a path, which cannot be the name of a member"),
                               ("n" * 1020, f"the name '{'n' * 20}...' is too long for a member")]:
            (self.folder / "named.weft").write_text(GRAPH.replace("return y =", f'return "{name}" ='))
            with self.subTest(name):
                self.refuses(FAILED, f"run: out.npz: {sentence}", "run", "named.weft", "none.npz", "-o", "out.npz")
                self.assertFalse((self.folder / "out.npz").exists())
                self.prints("", "run", "named.weft", "all.npz", "-o", f"{name}=out.npy")
        (self.folder / "named.weft").write_text(GRAPH.replace("return y =", 'return ".a..b" ='))
        self.prints("", "run", "named.weft", "all.npz", "-o", "out.npz")
        self.assertEqual(numpy.load(self.folder / "out.npz").files, [".a..b", "total"])

    def test_members_of_one_name(self):
        with warnings.catch_warnings(), zipfile.ZipFile(self.folder / "dup.npz", "w") as file:
            warnings.simplefilter("ignore")
            for _ in range(2):
                file.write(self.folder / "a.npy", "x.npy")
        self.refuses(FAILED, "run: dup.npz: two members have the same name", "run", "g.weft", "dup.npz", "w=w.npy")

    def test_failures(self):
        self.refuses(FAILED, 'run: input "x" is f64, but the program requires f32', "run", "g.weft", "wide.npz")
        self.refuses(FAILED, "run: none.npz: cannot be opened: No such file or directory", "run", "g.weft", "none.npz")
        (self.folder / "g.npz").write_text("no archive at all, but long enough to hold one")
        self.refuses(FAILED, "run: g.npz: is no zip archive, or is cut off", "run", "g.weft", "g.npz")
        data = (self.folder / "all.npz").read_bytes()
        (self.folder / "cut.npz").write_bytes(data[:-1])
        self.assertRegex(self.weft("run", "g.weft", "cut.npz")[2], r"^weft run: cut\.npz: (is no zip archive, or is cut off|cannot be opened: .+)\n$")
        (self.folder / "bad.npz").write_bytes(data.replace(b"\0\0\x80\x3f", b"\0\0\x81\x3f", 1))
        self.refuses(FAILED, "run: bad.npz:x.npy: reading the end failed: CRC error", "run", "g.weft", "bad.npz")
        status, out, error = self.weft("run", "g.weft", "all.npz", "-o", "none/y.npz")
        self.assertEqual((status, out), (FAILED, ""))
        self.assertRegex(error, r"^weft run: none/y\.npz cannot be written: .+\n$")


# Code takes files too, which have the same limits: the reference has none.
RUN = ["run", "g.weft", "all.npz", "--backend", "ref"]
EINSUM = ["einsum", "ij,jk->ik", "a.npy", "b.npy", "--backend", "ref"]
# Each way to write a file of the command: the file and the arguments.
WRITERS = [
    ("y.npy", [*RUN, "-o", "y=y.npy"]),
    ("y.npz", [*RUN, "-o", "y.npz"]),
    ("y.html", [*RUN, "-o", "total=/dev/null", "--view", "y.html"]),
    ("y.json", [*RUN, "-o", "total=/dev/null", "--trace", "y.json"]),
    ("r.npy", [*EINSUM, "-o", "r.npy"]),
    ("r.json", [*EINSUM, "-o", "/dev/null", "--trace", "r.json"]),
    *[(f"t.{end}", ["einsum", "ij,jk->ik", "a.npy", "b.npy", "--plan-only", "--tree", f"t.{end}"])
      for end in ["svg", "dot", "txt"]],
    *[(f"v.{end}", ["view", "g.weft", "-o", f"v.{end}"]) for end in ["svg", "dot", "html"]],
]


# A build that counts what it reaches could not write that either: it complains after weft's own message.
NO_COUNTS = os.environ | {"GCOV_PREFIX": "/dev/null"}


def limit_files(ignored):
    """No file may get longer than a few bytes, which the process is told by a signal and an error."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN if ignored else signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))
    return limit


class Outputs(Command):
    def setUp(self):
        super().setUp()
        numpy.savez(self.folder / "all.npz", x=numpy.ones((2, 3), "f4"), w=numpy.array([1, 2, 3], "f4"))
        self.before = set(os.listdir(self.folder))

    def made(self):
        return set(os.listdir(self.folder)) - self.before

    def test_devices_are_written_and_kept(self):
        for name, arguments in WRITERS:
            for device, status in [("/dev/null", OK), ("/dev/full", FAILED)]:
                path = self.folder / name
                path.symlink_to(device)
                with self.subTest(arguments, device=device):
                    if name.endswith(".npz"):  # what cannot seek may take no archive
                        found = self.weft(*arguments)[0]
                        self.assertIn(found, [OK, FAILED] if device == "/dev/null" else [FAILED])
                    else:
                        found, _, error = self.weft(*arguments)
                        self.assertEqual(found, status, error)
                        if status == FAILED:
                            self.assertRegex(error, f"^weft [a-z]+: {name} cannot be written: No space left on device\n$")
                    self.assertTrue(stat.S_ISCHR(os.stat(device).st_mode))
                    self.assertEqual(os.readlink(path), device)
                path.unlink()
        self.assertEqual(self.made(), set())

    def test_what_exists_is_kept(self):
        for name, arguments in WRITERS:
            path = self.folder / name
            path.write_text("a result that took a day to find")
            for ignored in [True, False]:
                with self.subTest(arguments, ignored=ignored):
                    status, _, error = self.weft(*arguments, preexec_fn=limit_files(ignored), env=NO_COUNTS)
                    self.assertRegex(error, f"^weft [a-z]+: {name} cannot be written: File too large\n")
                    self.assertEqual(status, FAILED)
                    self.assertEqual(path.read_text(), "a result that took a day to find")
                    self.assertEqual(self.made(), {name})
            with self.subTest(arguments):
                path.chmod(0o640)
                self.assertEqual(self.weft(*arguments)[0], OK)
                self.assertNotIn(b"took a day", path.read_bytes())
                self.assertEqual(path.stat().st_mode & 0o777, 0o640)
                self.assertEqual(self.made(), {name})
            path.unlink()

    def test_symbolic_links_keep_pointing(self):
        (self.folder / "far").mkdir()
        self.before |= {"far"}
        for name, arguments in WRITERS:
            (self.folder / "near").symlink_to(f"far/{name}")
            (self.folder / name).symlink_to("near")
            for exists in [False, True]:
                with self.subTest(arguments, exists=exists):
                    self.assertEqual((self.folder / "far" / name).exists(), exists)
                    self.assertEqual(self.weft(*arguments)[0], OK)
                    self.assertEqual(os.readlink(self.folder / name), "near")
                    self.assertEqual(os.listdir(self.folder / "far"), [name])
                    self.assertGreater((self.folder / "far" / name).stat().st_size, 0)
            for made in self.made():
                (self.folder / made).unlink()
            (self.folder / "far" / name).unlink()

    def test_modes_are_as_the_mask_says(self):
        for mask in [0o022, 0o077]:
            for name, arguments in WRITERS:
                with self.subTest(arguments, mask=oct(mask)):
                    self.assertEqual(self.weft(*arguments, preexec_fn=lambda: os.umask(mask))[0], OK)
                    self.assertEqual((self.folder / name).stat().st_mode & 0o777, 0o666 & ~mask)
                    (self.folder / name).unlink()

    def test_directories_are_no_files(self):
        for name, error in [("folder.npy", "reading the magic string and version failed"),
                            ("folder.npz", "cannot be opened")]:
            (self.folder / name).mkdir()
            self.refuses(FAILED, f"run: {name}: {error}: Is a directory", "run", "g.weft", f"x={name}", "w=w.npy")

    def test_places_are_found_before_the_work(self):
        (self.folder / "folder.npy").mkdir()
        (self.folder / "loop.npy").symlink_to("loop.npy")
        run, einsum = ["run", "g.weft", "none.npz", "-o"], ["einsum", "ij->", "none.npy", "-o"]
        for path, error in [("none/y.npy", "No such file or directory"), ("a.npy/y.npy", "Not a directory"),
                            ("folder.npy", "Is a directory"), ("loop.npy", "Too many levels of symbolic links"),
                            ("n" * 300 + ".npy", "File name too long")]:
            with self.subTest(path):
                self.refuses(FAILED, f"run: {path} cannot be written: {error}", *run, f"y={path}")
                self.refuses(FAILED, f"einsum: {path} cannot be written: {error}", *einsum, path)
        self.refuses(MISUSED, "einsum: -o takes the name of a file, not ''", *einsum, "")
        for more in [["--trace", "none/t.json"], ["--view", "none/t.html"], ["-o", "none/t.npz"]]:
            self.refuses(FAILED, f"run: {more[1]} cannot be written: No such file or directory", *run[:-1], *more)
        for more in [["--trace", "none/t.json"], ["--tree", "none/t.svg"]]:
            self.refuses(FAILED, f"einsum: {more[1]} cannot be written: No such file or directory", *einsum[:-1], *more)
        self.refuses(FAILED, "info: none/m.json cannot be written: No such file or directory",
                     "info", "--measure", "-o", "none/m.json")
        self.refuses(FAILED, "view: none/v.svg cannot be written: No such file or directory",
                     "view", "none.weft", "-o", "none/v.svg")
        self.refuses(MISUSED, "run: 'y.npy' would get two results; each needs a file of its own",
                     *run, "y=y.npy", "-o", "total=y.npy")

    def test_one_file_for_two_results(self):
        """However it is named; also one that is not there yet."""
        (self.folder / "far").mkdir()
        (self.folder / "near").symlink_to("far")
        (self.folder / "far" / "linked.npy").symlink_to("../y.npy")
        run, einsum = ["run", "g.weft", "all.npz"], ["einsum", "ij->", "a.npy"]
        for exists in [False, True]:
            if exists:
                (self.folder / "y.npy").write_text("old")
                os.link(self.folder / "y.npy", self.folder / "hard.npy")
            for other in ["./y.npy", "far/../y.npy", "far/linked.npy", "near/linked.npy", str(self.folder / "y.npy")]:
                for arguments in [[*run, "-o", "total=y.npy", "-o", f"y={other}"], [*run, "-o", f"y={other}", "--trace", "y.npy"],
                                  [*einsum, "-o", other, "--trace", "y.npy"]]:
                    with self.subTest(arguments, exists=exists):
                        status, _, error = self.weft(*arguments)
                        self.assertEqual(status, MISUSED)
                        self.assertRegex(error, "are one file, which would get two results; each needs a file of its own\n$")
                        self.assertEqual((self.folder / "y.npy").exists(), exists)
        self.prints("", *run, "-o", "total=y.npy", "-o", "y=far/y.npy")
        self.assertEqual(numpy.load(self.folder / "y.npy").tolist(), [12, 12])
        (self.folder / "hard.npy").unlink()
        os.link(self.folder / "y.npy", self.folder / "hard.npy")
        self.refuses(MISUSED, "run: 'hard.npy' and 'y.npy' are one file, which would get two results; each needs a file of "
                     "its own", *run, "-o", "total=y.npy", "-o", "y=hard.npy")
        self.prints("", *run, "-o", "total=/dev/null", "-o", "y=/dev/null")

    def test_texts_that_are_read_stay(self):
        """A program, an instance, an order, a machine."""
        (self.folder / "i.json").write_text('{"inputs": [[0, 1], [1, 2]], "output": [0, 2], "sizes": [2, 3, 4]}')
        (self.folder / "o").write_text("[(0, 1)]")
        (self.folder / "m.json").write_text('{"version": 3, "threads": 1, "product_rates": [1e9, 1e9, 1e9, 1e9], '
                                              '"operations": 1e9, "cache_bandwidth": 1e9, "sort_rate": 1e9, "bandwidth": 1e9, '
                                              '"dispatch_seconds": 1e-6, "fork_join_seconds": 1e-6}')
        (self.folder / "g.svg").symlink_to("g.weft")
        (self.folder / "link").symlink_to("i.json")
        run = ["run", "g.weft", "all.npz", "-o"]
        einsum = ["einsum", "--instance", "i.json", "--order", "o", "--machine", "m.json"]
        for read, path, arguments in [("g.weft", "g.weft", [*run, "y=g.weft"]), ("g.weft", "./g.weft", [*run, "y=./g.weft"]),
                                      ("g.weft", "g.weft", [*run, "y=y.npy", "--trace", "g.weft"]),
                                      ("g.weft", "g.svg", [*run, "y=y.npy", "--view", "g.svg"]),
                                      ("g.weft", "g.svg", ["view", "g.weft", "-o", "g.svg"]),
                                      ("i.json", "i.json", [*einsum, "-o", "i.json"]),
                                      ("i.json", "link", [*einsum, "-o", "link"]),
                                      ("o", "o", [*einsum, "-o", "o"]), ("m.json", "m.json", [*einsum, "--trace", "m.json"])]:
            with self.subTest(arguments):
                self.keeps(read, path, arguments)

    def keeps(self, read, path, arguments, text=None, stdin=None):
        """Refuses to write to `path`, the file of a result that is `read`, which the command calls `text`."""
        option = [a for a, b in zip(arguments, arguments[1:]) if b == path or b.endswith("=" + path)][-1]
        before = (self.folder / read).read_bytes()
        self.refuses(MISUSED, f"{arguments[0]}: a result of {option} in '{path}' would overwrite '{text or read}', which is also read",
                     *arguments, stdin=stdin)
        self.assertEqual((self.folder / read).read_bytes(), before)

    def test_arrays_that_are_read_stay(self):
        """Alone, in archives and from standard input, by whatever name; also what no output needs."""
        numpy.save(self.folder / "x.npy", numpy.ones((2, 3), "f4"))
        (self.folder / "near.svg").symlink_to("x.npy")
        os.link(self.folder / "x.npy", self.folder / "hard.npy")
        (self.folder / "one.weft").write_text(GRAPH.replace(", total = %3", ""))
        (self.folder / "less.weft").write_text(GRAPH.replace("return y = %2, total = %3", "return y = %x"))
        one, npz = ["run", "one.weft", "x=x.npy", "w=w.npy"], ["run", "g.weft", "all.npz"]
        member = ["run", "g.weft", "x=x.npy", "w=all.npz:w"]
        einsum, tree = ["einsum", "ij,jk->ik", "x.npy", "b.npy"], ["einsum", "ij->", "x.npy", "--plan-only", "--tree"]
        for read, path, arguments, *text in [
                ("x.npy", "x.npy", [*one, "-o", "x.npy"]), ("x.npy", "./x.npy", [*one, "-o", "y=./x.npy"]),
                ("x.npy", "hard.npy", [*one, "-o", "y=hard.npy"]), ("x.npy", "near.svg", [*one, "--view", "near.svg"]),
                ("x.npy", "x.npy", [*one, "--trace", "x.npy"]), ("w.npy", "w.npy", [*one, "--trace", "w.npy", "-o", "y.npy"]),
                ("x.npy", str(self.folder / "x.npy"), [*one, "-o", str(self.folder / "x.npy")]),
                ("w.npy", "w.npy", ["run", "less.weft", "x=x.npy", "w=w.npy", "-o", "w.npy"]),
                ("all.npz", "all.npz", [*npz, "-o", "all.npz"]), ("all.npz", "all.npz", [*npz, "--trace", "all.npz"]),
                ("all.npz", "./all.npz", [*member, "-o", "./all.npz"], "all.npz:w"),
                ("x.npy", "x.npy", [*einsum, "-o", "x.npy"]), ("b.npy", "./b.npy", [*einsum, "--trace", "./b.npy"]),
                ("all.npz", "all.npz", ["einsum", "ij->", "all.npz:x", "--trace", "all.npz"], "all.npz:x"),
                ("x.npy", "x.npy", [*tree, "x.npy"]), ("x.npy", "near.svg", [*tree, "near.svg"])]:
            with self.subTest(arguments):
                self.keeps(read, path, arguments, *text)
        for arguments in [["run", "one.weft", "x=-", "w=w.npy", "-o", "x.npy"], ["einsum", "ij->", "-", "-o", "x.npy"]]:
            with self.subTest(arguments), open(self.folder / "x.npy") as file:
                self.keeps("x.npy", "x.npy", arguments, "-", file)
        self.prints("", *one, "-o", "y.npy", "--trace", "/dev/null")
        self.prints("", *one, "-o", "y.npy")  # a result of the last call

    def test_texts_that_are_redirected_stay(self):
        (self.folder / "i.json").write_text('{"inputs": [[0, 1], [1, 2]], "output": [0, 2], "sizes": [2, 3, 4]}')
        (self.folder / "link").symlink_to("g.weft")
        run, view, einsum = ["run", "-", "all.npz", "-o"], ["view", "-", "--format", "svg", "-o"], ["einsum", "--instance", "-"]
        for read, path, arguments in [("g.weft", "g.weft", [*run, "y=g.weft"]), ("g.weft", "link", [*run, "y=link"]),
                                      ("link", "g.weft", [*run, "y=y.npy", "--trace", "g.weft"]),
                                      ("g.weft", "./g.weft", [*view, "./g.weft"]),
                                      ("i.json", "i.json", [*einsum, "-o", "i.json"])]:
            with self.subTest(arguments), open(self.folder / read) as file:
                self.keeps(read, path, arguments, "-", file)
        with open(self.folder / "g.weft") as file:
            self.assertEqual(self.weft(*run, "y=y.npy", stdin=file), (OK, "", ""))
        for program, read in [("-", "-"), ("g.weft", "g.weft")]:
            with open(self.folder / "g.weft") as source, open(self.folder / "g.weft", "a") as file:
                done = subprocess.run([WEFT, "run", program, "all.npz", "-o", "y=-"], cwd=self.folder, text=True,
                                      stdin=source, stdout=file, stderr=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stderr),
                             (MISUSED, f"weft run: a result of -o in '-' would overwrite '{read}', which is also read\n"))
            self.assertEqual((self.folder / "g.weft").read_text(), GRAPH)

    def test_what_is_printed_overwrites_nothing_that_is_read(self):
        for path, arguments in [("g.weft", ["opt", "g.weft"]), ("g.weft", ["run", "g.weft", "all.npz"]),
                                ("all.npz", ["run", "g.weft", "all.npz"])]:
            before = (self.folder / path).read_bytes()
            with self.subTest(arguments), open(self.folder / path, "ab") as file:
                done = subprocess.run([WEFT, *arguments], cwd=self.folder, stdout=file, stderr=subprocess.PIPE, text=True)
                self.assertEqual((done.returncode, done.stderr), (MISUSED, f"weft {arguments[0]}: standard output would "
                                                                  f"overwrite '{path}', which is also read\n"))
                self.assertEqual((self.folder / path).read_bytes(), before)

    def redirected(self, name, *arguments):
        with open(self.folder / name, "wb") as file:
            done = subprocess.run([WEFT, *arguments], cwd=self.folder, stdout=file, stderr=subprocess.PIPE, text=True)
        return done.returncode, done.stderr

    def test_a_result_that_is_redirected_stays(self):
        run = ["run", "g.weft", "all.npz", "-o"]
        for path in ["-", "/dev/stdout", "/dev/fd/1"]:
            for other, arguments in [("o.npy", ["-o", "total=o.npy"]), ("./o.npy", ["-o", "total=./o.npy"]),
                                     ("o.npy", ["--trace", "o.npy"])]:
                with self.subTest(path, arguments=arguments):
                    status, error = self.redirected("o.npy", *run, f"y={path}", *arguments)
                    self.assertEqual(status, MISUSED)
                    self.assertRegex(error, f"'({path}|{other})' and '({path}|{other})' are one file, which would get two "
                                            "results; each needs a file of its own\n$")
        self.assertEqual(self.redirected("o.npy", *run, "y=-", "-o", "total=t.npy"), (OK, ""))
        self.assertEqual(numpy.load(self.folder / "o.npy").shape, (2, 3))
        self.assertEqual(numpy.load(self.folder / "t.npy").tolist(), [12, 12])
        self.assertEqual(self.redirected("both", *run, "y=-", "-o", "total=-"), (OK, ""))  # one after the other
        with open(self.folder / "both", "rb") as file:
            self.assertEqual([numpy.load(file).shape for _ in range(2)], [(2, 3), (2,)])

    def test_one_of_two_fails(self):
        (self.folder / "y.npy").symlink_to("/dev/full")
        (self.folder / "total.npy").write_text("old")
        self.refuses(FAILED, "run: y.npy cannot be written: No space left on device",
                     "run", "g.weft", "all.npz", "-o", "y=y.npy", "-o", "total=total.npy")
        self.assertEqual(numpy.load(self.folder / "total.npy").tolist(), [12, 12])

    def test_pipes_and_descriptors(self):
        einsum = ["einsum", "ij->ji", "a.npy", "-o"]
        self.assertEqual(self.weft(*einsum, "t.npy"), (OK, "", ""))
        expected = (self.folder / "t.npy").read_bytes()
        os.mkfifo(self.folder / "pipe")
        with subprocess.Popen(["cat", "pipe"], cwd=self.folder, stdout=subprocess.PIPE) as reader:
            self.assertEqual(self.weft(*einsum, "pipe"), (OK, "", ""))
            self.assertEqual(reader.communicate()[0], expected)
        self.assertTrue(stat.S_ISFIFO((self.folder / "pipe").stat().st_mode))
        for path in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]:
            for name in [None, "kept"]:
                with self.subTest(path, name=name):
                    with open(self.folder / "kept", "wb") as file:
                        file.write(b"before\n")
                        file.flush()
                        done = subprocess.run([WEFT, *einsum, path], cwd=self.folder, stderr=subprocess.PIPE,
                                              stdout=file if name else subprocess.PIPE)
                    self.assertEqual((done.returncode, done.stderr), (OK, b""))
                    if name:
                        self.assertEqual((self.folder / name).read_bytes(), b"before\n" + expected)
                    else:
                        self.assertEqual(done.stdout, expected)


if __name__ == "__main__":
    main()
