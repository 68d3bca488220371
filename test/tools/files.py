# SPDX-License-Identifier: Apache-2.0
"""Arrays in .npy and .npz files, against numpy: files.py WEFT."""
import numpy

from support import FAILED, MISUSED, Command, main

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
        self.refuses(MISUSED, "einsum: which array of all.npz is meant? Say it as all.npz:NAME",
                     "einsum", "i->i", "all.npz")

    def test_failures(self):
        self.refuses(FAILED, "run: all.npz has no array 'v'; its arrays: x, w",
                     "run", "g.weft", "all.npz", "w=all.npz:v")
        self.refuses(FAILED, 'run: input "x" is f64, but the program requires f32', "run", "g.weft", "wide.npz")
        self.refuses(FAILED, "run: none.npz: cannot be opened: No such file", "run", "g.weft", "none.npz")
        (self.folder / "g.npz").write_text("no archive at all, but long enough to hold one")
        self.refuses(FAILED, "run: g.npz: cannot be opened: Not a zip archive", "run", "g.weft", "g.npz")
        data = (self.folder / "all.npz").read_bytes()
        (self.folder / "cut.npz").write_bytes(data[:-1])
        self.assertRegex(self.weft("run", "g.weft", "cut.npz")[2], r"^weft run: cut\.npz: cannot be opened: .+\n$")
        (self.folder / "bad.npz").write_bytes(data.replace(b"\0\0\x80\x3f", b"\0\0\x81\x3f", 1))
        self.refuses(FAILED, "run: bad.npz:x.npy: reading the end failed: CRC error", "run", "g.weft", "bad.npz")
        status, out, error = self.weft("run", "g.weft", "all.npz", "-o", "none/y.npz")
        self.assertEqual((status, out), (FAILED, ""))
        self.assertRegex(error, r"^weft run: none/y\.npz: cannot be written: .+\n$")


if __name__ == "__main__":
    main()
