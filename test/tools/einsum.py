# SPDX-License-Identifier: Apache-2.0
"""Instances, plans and orders of `weft einsum`: einsum.py WEFT."""
import ast
import json
import math
import re
import xml.etree.ElementTree

import support
from support import FAILED, MISUSED, OK, Command, load, main

CHAIN = {"inputs": [[0, 1], [1, 2], [2, 3], [3, 4]], "output": [0, 4], "sizes": [2, 3, 4, 5, 6]}
FORMAT = {"format_string": "ij,jk,kl,lm->im", "shapes": [[2, 3], [3, 4], [4, 5], [5, 6]], "dtype": "float64"}
PATH, SSA, NESTED = [[1, 2], [0, 2], [0, 1]], [[1, 2], [0, 4], [3, 5]], "(3,(0,(1,2)))"
PLAN = ("operands            4\nlabels              5\nlog10 multiplies    2.0934\nlog2 largest result 3.5850\n"
        "log2 live at once   4.1699\n")


def unordered(tree):
    """The same for trees that differ in the sides of steps."""
    return tree if isinstance(tree, int) else frozenset(map(unordered, tree))


class Instances(Command):
    def setUp(self):
        super().setUp()
        self.write("chain.json", CHAIN)
        self.write("format.json", FORMAT)

    def write(self, name, data):
        (self.folder / name).write_text(data if isinstance(data, str) else json.dumps(data))

    def plan(self, *arguments, name="chain.json"):
        status, out, error = self.weft("einsum", "--instance", name, "--plan-only", *arguments)
        self.assertEqual((status, error), (OK, ""))
        self.assertRegex(out, r"\npredicted ms        [0-9.e+-]+\n")
        return "".join(line for line in out.splitlines(True) if not line.startswith("predicted ms"))

    def run_well(self, *arguments):
        status, out, error = self.weft(*arguments)
        self.assertEqual((status, error), (OK, ""))
        return out

    def breaks(self, data, sentence, *arguments):
        self.write("bad.json", data)
        status, _, error = self.weft("einsum", "--instance", "bad.json", "--plan-only", *arguments)
        self.assertEqual((status, error), (FAILED, f"weft einsum: bad.json: {sentence}\n"))


class Plan(Instances):
    def test_prints(self):
        for name in ["chain.json", "format.json"]:
            self.assertEqual(self.plan("--objective", "flops", name=name), PLAN)
        stats = json.loads(self.plan("--stats", "--objective", "flops").splitlines()[-1])
        self.assertEqual((stats["operands"], stats["labels"], stats["order"]), (4, 5, "0-1,0-2,0-1"))
        self.assertAlmostEqual(stats["log10_flops"], math.log10(2 * 3 * 4 + 2 * 4 * 5 + 2 * 5 * 6), 9)
        self.assertGreaterEqual(stats["plan_ms"], 0)

    def test_logarithms(self):
        """A fold from the left keeps 2^1200 elements, which no double counts."""
        labels = list(range(30))
        large = {"inputs": [[x] for x in labels + labels], "output": [], "sizes": [2**40] * 30}
        self.write("large.json", large)
        out = self.plan("--optimize", "left", "--stats", name="large.json")
        stats = json.loads(out.splitlines()[-1])
        self.assertIn("\nlog2 live at once   1200.0000\n", out)
        self.assertAlmostEqual(stats["log2_peak"], 1200, 6)
        self.assertRegex(out, r'"predicted_ms":\d[0-9.]*e\+3\d\d,')
        self.assertEqual([name for name in stats if stats[name] is None], [])

    def test_arrays(self):
        status, out, _ = self.weft("einsum", "ij,jk,kl->il", "a.npy", "b.npy", "c.npy", "--plan-only", "--optimize", "left")
        self.assertEqual((status, out.splitlines()[0]), (OK, "operands            3"))

    def test_forms(self):
        for name in ["chain.json", "format.json"]:
            for given in ["path:1-2,0-2,0-1", "ssa:1-2,0-4,3-5"]:
                self.assertEqual(json.loads(self.last("--optimize", given, "--print-order", "path", name=name)), PATH)
                self.assertEqual(json.loads(self.last("--optimize", given, "--print-order", "ssa", name=name)), SSA)
                self.assertEqual(self.last("--optimize", given, "--print-order", "nested", name=name), NESTED)

    def last(self, *arguments, **more):
        return self.plan(*arguments, **more).splitlines()[-1]

    def test_files(self):
        """As Python prints what opt_einsum and cotengra give."""
        path, ssa = [tuple(pair) for pair in PATH], [tuple(pair) for pair in SSA]
        tree = ast.literal_eval(NESTED)
        for number, order in enumerate([path, tuple(path), PATH, ssa, tuple(ssa), SSA, tree, json.loads(json.dumps(tree))]):
            with self.subTest(order):
                self.write("order", f" {order}\n")
                self.assertEqual(self.last("--order", "order", "--print-order", "nested"), NESTED)
        self.write("order", f"['einsum_path', {str(path)[1:]}")
        self.assertEqual(self.last("--order", "order", "--print-order", "nested"), NESTED)
        self.write("ordered.json", {**CHAIN, "order": PATH})
        self.assertEqual(self.last("--print-order", "nested", name="ordered.json"), NESTED)
        self.assertEqual(self.last("--optimize", "left", "--print-order", "nested", name="ordered.json"), "(((0,1),2),3)")
        self.write("order", "[(0, 1,),(0,1) ]")
        self.write("three.json", {**FORMAT, "format_string": "ij,jk,kl->il", "shapes": FORMAT["shapes"][:3]})
        self.assertEqual(self.last("--order", "order", "--print-order", "ssa", name="three.json"), "[[0, 1], [2, 3]]")

    def test_printed_plans(self):
        """All that is printed with an order is a file that --order takes."""
        for form in ["path", "ssa", "nested"]:
            for more in [["--plan-only"], ["--plan-only", "--stats"], []]:
                with self.subTest(form, more=more):
                    status, out, _ = self.weft("einsum", "--instance", "chain.json", "--optimize", "ssa:1-2,0-4,3-5",
                                               "--print-order", form, *more)
                    self.assertEqual(status, OK)
                    self.write("order", out)
                    self.assertEqual(self.last("--order", "order", "--print-order", "nested"), NESTED)
        self.write("order", "operands            4\npredicted ms        1\n[[1, 2], [0, 4], [3, 7]]\nresult  f32[]\n")
        self.refuses(FAILED, "einsum: order:3:22: step 2 takes value 7, but values go from 0 to 5 then",
                     "einsum", "--instance", "chain.json", "--plan-only", "--order", "order")
        self.write("order", "operands            4\nlabels              5\n")
        self.refuses(FAILED, "einsum: order:3:1: the order is empty; that of one operand is [] or 0",
                     "einsum", "--instance", "chain.json", "--plan-only", "--order", "order")

    def test_second_orders(self):
        """Nothing that a run prints after an order is one."""
        call = ["einsum", "--instance", "chain.json", "--plan-only", "--print-order", "ssa", "--order", "order"]
        good = self.plan("--optimize", "left", "--print-order", "ssa", "--stats")
        order = good.splitlines()[-2]
        count = len(good.splitlines())
        for second in ["[[0, 1], [0, 1], [0, 1]]", order, " [(2, 3), (1, 2), (0, 1)]", "((0, 1), (2, 3))",
                       "['einsum_path', (0, 1)]", '{"order":"0-1"}', '{"x":1,"order":"0-1,0-1,0-1"}']:
            with self.subTest(second):
                self.write("order", f"{good}hello\n{second}\n")
                self.refuses(FAILED, f"einsum: order:{count + 2}:1: '{second}' is a second order", *call)
        self.write("order", good)
        read = self.run_well(*call).splitlines()[-1]
        self.write("order", f'{good}hello {order}\n{{"x":1}}\n')
        self.assertEqual(self.run_well(*call).splitlines()[-1], read)
        product = ["einsum", "ij,jk->ik", "a.npy", "b.npy", "--plan-only", "--order", "order"]
        for lines in ["", "sliced labels       1: j\n"]:
            self.write("order", f"{lines}[[0, 1]]\n[[0 1]\n [2 3]]\n[]\n")
            self.run_well(*product)
            self.write("order", f"{lines}[[0, 1]]\n[[0, 1]]\n")
            self.refuses(FAILED, f"einsum: order:{lines.count(chr(10)) + 2}:1: '[[0, 1]]' is a second order", *product)

    def test_orders_of_runs(self):
        """With the result or the statistics after them."""
        call = ["einsum", "ij,jk,il->kl", "a.npy", "b.npy", "a.npy"]
        for form in ["path", "ssa", "nested"]:
            for more in [[], ["--stats", "-o", "r.npy"], ["--plan-only", "--stats"]]:
                with self.subTest(form, more=more):
                    self.write("order", self.run_well(*call, "--optimize", "left", "--print-order", form, *more))
                    read = self.run_well(*call, "--plan-only", "--order", "order", "--print-order", "nested")
                    self.assertEqual(read.splitlines()[-1], "(2,(0,1))")
        self.write("order", "[(0, 1),\n (0, 1)]\n")
        self.run_well(*call, "--order", "order")

    def test_defaults_of_c(self):
        """Zero is a seed, and stands for all processors."""
        for option, most in [("--seed", 10**9), ("--threads", 1024)]:
            self.assertEqual(self.last(option, "0", "--print-order", "nested"), self.last("--print-order", "nested"))
            self.refuses(MISUSED, f"einsum: {option} takes an integer from 0 to {most}, not '-1'",
                         "einsum", "--instance", "chain.json", option, "-1")

    def test_steps_of_any_size(self):
        """Of one operand, as of more than two, which opt_einsum writes too."""
        for text, nested in [("[(0, 1, 2, 3)]", "(3,(2,(0,1)))"), ("[(1, 2), (0, 1, 2)]", "((1,2),(0,3))"),
                             ("[(1, 2), (0, 3, 4)]", "((1,2),(0,3))"), ("[(0,), (0, 1), (0, 1, 2)]", "((1,2),(0,3))"),
                             ("[(0,), (1, 2), (3, 4, 5)]", "((1,2),(0,3))"), ("((0, 1), (2, 3))", "((0,1),(2,3))"),
                             ("(3, (0, 1, 2))", "(3,(2,(0,1)))"), ("((0,), 1, (2, 3))", "((0,1),(2,3))")]:
            with self.subTest(text):
                self.write("order", text)
                found = self.last("--order", "order", "--print-order", "nested")
                self.assertEqual(unordered(ast.literal_eval(found)), unordered(ast.literal_eval(nested)))

    def test_sizes(self):
        """As lists and as opt_einsum and cotengra have them, for integers and letters."""
        letters = [["i", "j"], ["j", "κ"], ["κ", "l"], ["l", "m"]]
        by_letter = {"m": 6, "l": 5, "κ": 4, "j": 3, "i": 2, "z": 9}
        for data in [{**CHAIN, "sizes": {str(label): size for label, size in enumerate(CHAIN["sizes"])}},
                     {"inputs": CHAIN["inputs"], "output": [0, 4], "size_dict": CHAIN["sizes"]},
                     {"inputs": [[5, 1], [1, 2], [2, 3], [3, 1 << 53]], "output": [5, 1 << 53],
                      "size_dict": {str(1 << 53): 6, "5": 2, "1": 3, "2": 4, "3": 5}},
                     {"inputs": letters, "output": ["i", "m"], "size_dict": by_letter},
                     {"inputs": ["".join(term) for term in letters], "output": "im", "sizes": by_letter},
                     {"format_string": "ij,jκ, κl,lm -> im", "size_dict": by_letter},
                     {"format_string": "[0 1],[1 2],[2 3],[3 10]->[0 10]",
                      "sizes": {"10": 6, "0": 2, "1": 3, "2": 4, "3": 5}}]:
            with self.subTest(data):
                self.write("sized.json", data)
                self.assertEqual(self.plan("--objective", "flops", name="sized.json"), PLAN)
        self.write("sized.json", {"inputs": [[], ["i"], "i", []], "output": [], "sizes": {"i": 3}})
        status, out, error = self.weft("einsum", "--instance", "sized.json", "--check")
        self.assertEqual((status, error), (OK, ""))
        self.plan("--tree", "t.txt", name="sized.json")
        tree = (self.folder / "t.txt").read_text()
        self.assertEqual((tree.count("scalar  size 2^0"), tree.count("i  size 2^1.585")), (5, 2))
        self.write("sized.json", {"format_string": "(ij,jk),kl->il", "sizes": {"i": 2, "j": 3, "k": 4, "l": 5}})
        self.assertEqual(self.last("--optimize", "nested", "--print-order", "nested", name="sized.json"), "(2,(0,1))")

    def test_few(self):
        self.write("one.json", {"inputs": [[0, 0]], "output": [0], "sizes": [3]})
        self.write("two.json", {"inputs": [[0, 1], [1]], "output": [0], "sizes": [3, 4]})
        for name, path, nested in [("one.json", "[]", "0"), ("two.json", "[[0, 1]]", "(0,1)")]:
            for text in [path, nested, "[(0,)]" if nested == "0" else "[(0, 1)]"]:
                self.write("order", text)
                self.assertEqual(self.last("--order", "order", "--print-order", "path", name=name), path)
                self.assertEqual(self.last("--order", "order", "--print-order", "nested", name=name), nested)

    def test_objectives(self):
        for objective in ["time", "flops", "size", "write", "combo"]:
            self.assertEqual(self.plan("--objective", objective, "--threads", "1", "--seed", "7").splitlines()[0],
                             "operands            4")

    def test_limits_memory(self):
        """Both halves of a ring of large matrices live at once, unless they are sliced."""
        self.write("ring.json", {"inputs": [[0, 1], [1, 2], [2, 3], [3, 0]], "output": [], "sizes": [64] * 4})
        whole, limited = ["--instance", "ring.json", "--dtype", "f32"], ["--memory-limit", "8k"]
        status, out, error = self.weft("einsum", *whole, *limited, "--check", "--stats")
        self.assertEqual((status, error), (OK, ""))
        stats = json.loads(out.splitlines()[-1])
        self.assertLess(stats["check_difference"], 1e-5)
        self.assertGreater(stats["sliced"], 0)
        self.assertLessEqual(stats["peak_bytes"], 8192)
        self.assertRegex(out, r"\nsliced labels       ([12]): (\d(?:,\d)?)\nslicing overhead    1x\n")
        self.assertRegex(out, r"\nrunning ms          [0-9.]+, planning and compiling in it\n")
        status, _, error = self.weft("einsum", *whole, "--memory-limit", "3")
        self.assertEqual(status, FAILED)
        self.assertIn("the memory limit is 3 bytes", error)
        for limit in [str(2**63 - 1), f"{2**23 - 1}T"]:
            self.assertEqual(self.weft("einsum", *whole, "--memory-limit", limit)[0], OK)
        for limit in [str(2**63), f"{2**23}T"]:
            self.assertEqual(self.weft("einsum", *whole, "--memory-limit", limit)[0], MISUSED)
        status, _, error = self.weft("einsum", *whole, "--memory-limit", "3Q")
        self.assertEqual(status, MISUSED)
        self.assertIn("--memory-limit takes a number of bytes from 1 to 2^63 - 1, such as 1048576, 512M or 4G, not '3Q'", error)

    def test_slices(self):
        """A sliced run gives what the whole one does; steps without a sliced label are done again in each iteration."""
        for name, labels in [("chain.json", "2,3"), ("format.json", "k,l")]:
            sliced = self.plan("--optimize", "left", "--slice", labels, name=name).splitlines()
            self.assertEqual(sliced[5], f"sliced labels       2: {labels}")
            self.assertEqual(sliced[2], f"log10 multiplies    {math.log10(2 * 3 * 4 * 5 + 2 * 4 * 5 + 2 * 4 * 5 * 6):.4f}")
            status, out, error = self.weft("einsum", "--instance", name, "--optimize", "left", "--slice", labels, "--check",
                                           "--stats")
            self.assertEqual((status, error), (OK, ""))
            self.assertLess(json.loads(out.splitlines()[-1])["check_difference"], 1e-5)

    def test_sliced_plans_come_back(self):
        """An order that was found under a memory limit and its sliced labels: the same plan, without a search."""
        ring = {"inputs": [[0, 1], [1, 2], [2, 3], [3, 0]], "output": [], "sizes": [64] * 4}
        letters = {**ring, "inputs": ["\u03b1b", "bc", "c\U0001f600", "\U0001f600\u03b1"],
                   "output": "", "sizes": dict.fromkeys("\u03b1bc\U0001f600", 64)}
        large = (1 << 63) - 1
        wide = {"format_string": f"[{large} 1],[1 2],[2 3],[3 {large}]->[]",
                "sizes": {str(label): 64 for label in [large, 1, 2, 3]}}
        dots = {"format_string": "...ij,...jk,...kl,...li->...", "shapes": [[3, 64, 64]] * 4}
        for data, limit, form in [(ring, "8k", "ssa"), (letters, "8k", "path"), (wide, "8", "nested"), (dots, "2k", "ssa"),
                                  (dots, "8", "path")]:
            with self.subTest(data, limit=limit):
                self.write("ring.json", data)
                found = self.plan("--memory-limit", limit, "--print-order", form, "--stats", name="ring.json")
                self.write("order", found)
                again = self.plan("--order", "order", "--print-order", form, "--stats", name="ring.json")
                stats = [json.loads(text.splitlines()[-1]) for text in [found, again]]
                for of in stats:
                    self.assertEqual(of["sliced_labels"].count(",") + 1, of["sliced"])
                    of.pop("plan_ms")
                self.assertEqual(stats[0], stats[1])
                self.assertEqual(found.splitlines()[:-2], again.splitlines()[:-2])
                self.assertEqual(unordered(ast.literal_eval(found.splitlines()[-2])),
                                 unordered(ast.literal_eval(again.splitlines()[-2])))
                labels = stats[0]["sliced_labels"]
                self.assertIn(f"sliced labels       {stats[0]['sliced']}: {labels}\n", found)
                self.write("order", found.splitlines()[-2])
                self.assertEqual(self.plan("--order", "order", "--print-order", form, "--slice", labels, name="ring.json"),
                                 "".join(again.splitlines(True)[:-1]))
                status, out, error = self.weft("einsum", "--instance", "ring.json", "--order", "order", "--slice", labels,
                                               "--check", "--stats")
                self.assertEqual((status, error), (OK, ""))
                self.assertLess(json.loads(out.splitlines()[-1])["check_difference"], 1e-5)
        self.assertIn("...[0]", labels)

    def test_sliced_labels_of_files(self):
        """They stand before an order that is printed beside a result too; --slice has others done in their place."""
        order = self.run_well("einsum", "ij,jk->ik", "a.npy", "b.npy", "--optimize", "left", "--slice", "j",
                              "--print-order", "ssa", "-o", "c.npy")
        self.assertEqual(order, "sliced labels       1: j\n[[0, 1]]\n")
        self.write("order", order)
        call = ["einsum", "ij,jk->ik", "a.npy", "b.npy", "--plan-only", "--print-order", "ssa", "--order", "order"]
        self.assertIn("\nsliced labels       1: j\n", self.run_well(*call))
        self.assertIn("\nsliced labels       2: i,k\n", self.run_well(*call, "--slice", "i,k"))
        form = ":1:1: sliced labels are such as '2: i,j', not "
        unknown = ":1:1: a label that no operand has is named in "
        for line, sentence in [("sliced labels  1", form + "'sliced labels  1'"),
                               ("sliced labels  1: ij", form + "'sliced labels  1: ij'"),
                               ("sliced labels  : i", form + "'sliced labels  : i'"),
                               ("sliced labels  1: ...[2", form + "'sliced labels  1: ...[2'"),
                               ("sliced labels  2: j", ":1:1: expected 2 sliced labels, found 1 in 'sliced labels  2: j'"),
                               ("sliced labels  1: i,j", ":1:1: expected 1 sliced labels, found 2 in "
                                                         "'sliced labels  1: i,j'"),
                               ("sliced labels  1: ...[0]", unknown + "'sliced labels  1: ...[0]'"),
                               ("sliced labels  2: i,z", unknown + "'sliced labels  2: i,z'")]:
            self.write("order", f"{line}\n[[0, 1]]\n")
            self.refuses(FAILED, f"einsum: order{sentence}", *call)

    def test_damaged_plans(self):
        """No line before the order is passed over."""
        letters = {"inputs": ["ab", "bc", "cd", "de"], "output": "ae", "sizes": {"a": 3, "b": 4, "c": 5, "d": 6, "e": 7}}
        self.write("letters.json", letters)
        good = self.weft("einsum", "--instance", "letters.json", "--plan-only", "--optimize", "left", "--slice", "e",
                         "--print-order", "ssa")[1]
        call = ["einsum", "--instance", "letters.json", "--plan-only", "--print-order", "ssa", "--order", "order"]
        self.write("order", good)
        self.assertEqual(self.run_well(*call).splitlines()[:-1], good.splitlines()[:-1])
        unknown = ("is neither a line of a plan nor an order, which is a list of steps such as [(0, 1), (0, 1)] or a tree such as "
                   "((0, 1), 2)")
        slicing = "slicing overhead    1x"
        self.assertIn(slicing, good)
        for was, now, sentence in [
                ("operands            4", "operands 77", "1:1: the plan is of 77 operands, but there are 4"),
                ("operands            4", "operands", "1:1: 'operands' is to end with a count"),
                ("operands            4", "operands            4x", "1:1: 'operands            4x' is to end with a count"),
                ("operands            4", "foo bar", f"1:1: 'foo bar' {unknown}"),
                ("labels              5", "labels 77", "2:1: the plan is of 77 labels, but there are 5"),
                ("labels              5", "labels -5", "2:1: 'labels -5' is to end with a count"),
                ("labels              5", "operands 4", "2:1: 'operands 4' is the second line of its kind"),
                ("log10 multiplies    ", "log10 multiplies    x", r"3:1: 'log10 multiplies    x[0-9.]+' must end with a number"),
                ("sliced labels       1: e", "sliced label        1: e", f"6:1: 'sliced label        1: e' {unknown}"),
                ("sliced labels       1: e", "foo bar", f"6:1: 'foo bar' {unknown}"),
                ("sliced labels       1: e", "s" * 300, f"6:1: '{'s' * 80}...' {unknown}"),
                ("sliced labels       1: e\n", "",
                 f"6:1: '{slicing}' is said of slices, but no line has the sliced labels"),
                ("sliced labels       1: e", "sliced labels       2: e",
                 "6:1: expected 2 sliced labels, found 1 in 'sliced labels       2: e'"),
                (slicing, "slicing overhead    1", "7:1: 'slicing overhead    1' must end with a number and 'x'"),
                ("predicted", "labels              5\npredicted", "8:1: 'labels              5' is the second line of its kind"),
                ("]]\n", "]]\nsliced labels       1: d\n",
                 "10:1: 'sliced labels       1: d' stands after the order, but belongs before it")]:
            with self.subTest(now):
                self.write("order", good.replace(was, now, 1))
                status, out, error = self.weft(*call)
                self.assertEqual((status, out), (FAILED, ""))
                expected = sentence if "[0-9" in sentence else re.escape(sentence)
                self.assertRegex(error, f"^weft einsum: order:{expected}\n$")

    def test_plans_for_other_extents(self):
        """The labels of a plan are those of extents over one, of which there may be others where it is taken."""
        for planned, taken in [(3, 1), (1, 3)]:
            for name, size in [("planned.json", planned), ("taken.json", taken)]:
                self.write(name, {"format_string": "b...i,ij,...jk->b...k", "shapes": [[size, 3, 4], [4, 5], [3, 5, 6]]})
            order = self.last("--print-order", "ssa", name="planned.json")
            self.write("order", self.plan("--print-order", "ssa", name="planned.json"))
            self.assertEqual(self.last("--order", "order", "--print-order", "ssa", name="taken.json"), order)

    def test_line_ends(self):
        """Of Windows."""
        self.write("ring.json", {"inputs": [[0, 1], [1, 2], [2, 3], [3, 0]], "output": [], "sizes": [64] * 4})
        call = ["einsum", "--instance", "ring.json", "--plan-only", "--print-order", "ssa"]
        good = self.run_well(*call, "--optimize", "left", "--slice", "1,2")
        for text in [good, good.replace("labels       2", "labels\t2"), "\n" + good.replace("predicted", " \n predicted")]:
            (self.folder / "order").write_bytes(text.replace("\n", "\r\n").encode())
            self.assertEqual(self.run_well(*call, "--order", "order").splitlines()[:-1], good.splitlines()[:-1])

    def test_machine(self):
        """A step takes dispatch_seconds at least."""
        machine = {"version": 3, "threads": 1, "product_rates": [1e9, 1e9, 1e9, 1e9], "operations": 1e9,
                   "cache_bandwidth": 1e9, "sort_rate": 1e9, "bandwidth": 1e9, "dispatch_seconds": 0.5, "fork_join_seconds": 0}
        self.write("machine.json", machine)
        stats = json.loads(self.plan("--machine", "machine.json", "--stats").splitlines()[-1])
        self.assertAlmostEqual(stats["predicted_ms"], 1500, 1)
        call = ["einsum", "--instance", "chain.json", "--plan-only", "--machine", "bad"]
        unknown = "is no member of a machine, as weft info --measure writes one"
        for bad, sentence in [("[]", "the file holds a list; it must be an object"),
                              ({**machine, "version": 1}, '"version" is 1; it must be 3, the only one that is known'),
                              ({**machine, "cores": 2}, f'"cores" {unknown}'),
                              ({**machine, "product_rates": 1}, '"product_rates" is 1; it must be a list of 4 numbers'),
                              ({**machine, "product_rates": [1]},
                               'the length of "product_rates" is 1; it must be a list of 4 numbers'),
                              ({**machine, "product_rates": [1, 2, 3, "4"]},
                               'entry 3 of "product_rates" is the text "4"; it must be a number from 1 to 1e+18'),
                              ({**machine, "product_rates": [1, 2, -3, 4]},
                               'entry 2 of "product_rates" is -3; it must be a number from 1 to 1e+18'),
                              ({**machine, "bandwidth": 0}, '"bandwidth" is 0; it must be a number from 1 to 1e+18'),
                              ({**machine, "threads": 1.5}, '"threads" is 1.5; it must be an integer from 1 to 1024'),
                              ({**machine, "dispatch_seconds": 2}, '"dispatch_seconds" is 2; it must be a number from 0 to 1')]:
            self.write("bad", bad)
            self.refuses(FAILED, f"einsum: bad: {sentence}", *call)
        for missing, rule in [("version", "3, the only one that is known"), ("product_rates", "a list of 4 numbers"),
                              ("bandwidth", "a number from 1 to 1e+18"), ("fork_join_seconds", "a number from 0 to 1")]:
            self.write("bad", {name: value for name, value in machine.items() if name != missing})
            self.refuses(FAILED, f'einsum: bad: "{missing}" is missing; it must be {rule}', *call)

    def test_measures(self):
        """What is measured is printed, and a file that --machine reads."""
        status, out, error = self.weft("info", "--measure", "--threads", "2", "-o", "m.json")
        self.assertEqual((status, error, len(out.splitlines())), (OK, "", 11))
        machine = json.loads((self.folder / "m.json").read_text())
        self.assertEqual((machine.pop("version"), machine.pop("threads"), len(machine)), (3, 2, 7))
        self.assertTrue(all(number > 0 for number in machine.pop("product_rates") + list(machine.values())))
        self.plan("--machine", "m.json")
        self.run_well("einsum", "--instance", "chain.json", "--machine", "m.json")
        self.refuses(MISUSED, "info: --threads requires --measure", "info", "--threads", "1")
        self.refuses(MISUSED, "info: --plugin cannot be combined with --measure", "info", "--measure", "--plugin", "x.so")

    def test_tree(self):
        out = self.plan("--optimize", "path:1-2,0-2,0-1", "--print-order", "tree")
        self.assertEqual(out, PLAN.replace("2.0934", "2.1761").replace("3.5850", "3.9069").replace("4.1699", "4.6439") +
                         "[4 0]  size 2^3.585, multiplies 10^1.78\n|- 3: [3 4]  size 2^4.907\n"
                         "`- [0 3]  size 2^3.322, multiplies 10^1.48\n   |- 0: [0 1]  size 2^2.585\n"
                         "   `- [1 3]  size 2^3.907, multiplies 10^1.78\n      |- 1: [1 2]  size 2^3.585\n"
                         "      `- 2: [2 3]  size 2^4.322\n")

    def test_draws(self):
        for end in ["svg", "dot", "txt"]:
            self.plan("--tree", f"tree.{end}")
        root = xml.etree.ElementTree.parse(self.folder / "tree.svg").getroot()
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertEqual(sum(text.startswith(("0: ", "1: ", "2: ", "3: ")) for text in texts), 4)
        self.assertEqual(len(texts), 14)
        dot = (self.folder / "tree.dot").read_text()
        self.assertEqual((dot.count("->"), dot.count("{"), dot.count("}")), (6, 1, 1))
        self.assertEqual(len((self.folder / "tree.txt").read_text().splitlines()), 7)

    def test_labels_of_any_script(self):
        self.write("long.json", {"format_string": "<\u0436" + "".join(map(chr, range(0x3b1, 0x3c9))) + ",\u0436->",
                                 "shapes": [[1] + [2] * 25, [2]]})
        self.plan("--tree", "tree.svg", name="long.json")
        xml.etree.ElementTree.parse(self.folder / "tree.svg")

    def test_large(self):
        """Extents to 2^40, and more operands than letters."""
        for count, more in [(60, []), (2000, ["--optimize", "left"])]:
            self.write("huge.json", {"inputs": [[i, (i + 1) % count] for i in range(count)], "output": [],
                                     "sizes": [2**40] * count})
            out = self.plan(*more, name="huge.json").splitlines()
            self.assertEqual(out[0], f"operands            {count}")
            self.assertEqual(out[3], "log2 largest result 80.0000")


class Run(Instances):
    def test_tells_memory(self):
        self.write("ring.json", {"inputs": [[0, 1], [1, 2], [2, 3], [3, 0]], "output": [], "sizes": [512] * 4})
        status, out, error = self.weft("einsum", "--instance", "ring.json", "--dtype", "f64", "--check", "--stats")
        self.assertEqual((status, error), (OK, ""))
        told = float(re.search(r"\nintermediates MiB   ([0-9.]+)\n", out).group(1))
        self.assertGreaterEqual(told, 4)
        self.assertAlmostEqual(told, json.loads(out.splitlines()[-1])["peak_bytes"] / 2**20, 3)
        self.assertRegex(out, r"\nsecond order        relative difference \S+, rounding bound \S+\n")

    def test_refuses_what_fits_no_machine(self):
        """Before anything is made, with the plan to be seen."""
        for inputs, sentence in [
                ([[0], [1], [2], [0], [1], [2]],
                 "the plan needs 65536 TiB for live intermediates and 6 MiB for operands and result, but the process may have "
                 r"[0-9.e+]+ GiB; --memory-limit BYTES has intermediates sliced"),
                ([[0, 1], [1, 2], [2, 0]],
                 r"the plan needs 4 TiB for live intermediates and 12 TiB for operands and result, but the process may have "
                 r"[0-9.e+]+ GiB")]:
            self.write("big.json", {"inputs": inputs, "output": [], "sizes": [2**(18 if len(inputs) > 3 else 20)] * 3})
            status, out, error = self.weft("einsum", "--instance", "big.json", "--optimize", "left", "--dtype", "f32")
            self.assertEqual(status, FAILED)
            self.assertTrue(out.startswith(f"operands            {len(inputs)}\n"))
            self.assertRegex(error, f"^weft einsum: big.json: {sentence}\n$")

    def test_nothing_takes_no_memory(self):
        self.write("none.json", {"inputs": [[0, 1], [1, 2], [2, 3]], "output": [0, 3], "sizes": [0, 2**40, 0, 5]})
        status, out, error = self.weft("einsum", "--instance", "none.json", "--optimize", "left")
        self.assertEqual((status, error), (OK, ""))
        self.assertIn("\nresult              f32[0, 5], sum 0\n", out)

    def test_checks(self):
        for dtype in "bool u8 i32 u32 i64 bf16 f16 f32 f64 c64 c128".split():
            for more in [["--optimize", "left"], ["--optimize", "path:1-2,0-2,0-1", "--repeat", "2"], ["--symbolic"]]:
                with self.subTest(dtype=dtype, more=more):
                    status, out, error = self.weft("einsum", "--instance", "chain.json", "--dtype", dtype, "--check",
                                                   "--stats", *more)
                    self.assertEqual((status, error), (OK, ""))
                    stats = json.loads(out.splitlines()[-1])
                    self.assertIn(f"result              {dtype}[2, 6], sum ", out)
                    self.assertLess(stats["check_difference"], 0.1)
                    if "--symbolic" not in more:
                        self.assertNotEqual(stats["check_order"], stats["order"])
                    self.assertTrue(all(stats[name] >= 0 for name in ["plan_ms", "compile_ms", "run_ms"]))

    def test_same_data(self):
        """The dtype of the file; the same numbers for a seed whatever the form of the file and the order."""
        for seed, more in [("1", []), ("1", ["--optimize", "left"]), ("2", [])]:
            self.weft("einsum", "--instance", "chain.json", "--dtype", "f64", "--seed", seed, "-o", "a.npy", *more)
            self.weft("einsum", "--instance", "format.json", "--seed", seed, "-o", f"b{seed}.npy", *more)
            shape, values = load(self.folder / "a.npy")
            self.assertEqual(shape, (2, 6))
            for x, y in zip(values, load(self.folder / f"b{seed}.npy")[1]):
                self.assertAlmostEqual(x, y, 12)
            self.assertTrue(all(0.1 < x < 10 for x in values))
        self.assertNotEqual(load(self.folder / "b1.npy"), load(self.folder / "b2.npy"))

    def test_second_order(self):
        """A rotation where the planner has nothing else; swapped sides where there is no other tree."""
        self.write("ring.json", {"inputs": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]], "output": [], "sizes": [7] * 5})
        for name, steps in [("ring.json", 4), ("two.json", 1), ("one.json", 0)]:
            self.write("one.json", {"inputs": [[0, 0]], "output": [], "sizes": [7]})
            self.write("two.json", {"inputs": [[0, 1], [1, 0]], "output": [], "sizes": [7, 5]})
            status, out, _ = self.weft("einsum", "--instance", name, "--check", "--stats", "--optimize", "left")
            stats = json.loads(out.splitlines()[-1])
            self.assertEqual(status, OK)
            if steps > 1:
                self.assertEqual(len(stats["check_order"].split("-")) - 1, steps)
                self.assertNotEqual(stats["check_order"], stats["order"])
            else:
                self.assertEqual(stats["check_order"], "sides swapped")
            told = "second order        relative difference" if steps > 1 else "sides swapped       relative difference"
            self.assertIn(f"\n{told} ", out)


NODES = """weft 0.1
symbol n in [1, 1024]
graph {
  %a = input() {name = "a", dtype = f32, shape = [2, 3]}
  %b = input() {name = "b", dtype = f32, shape = [3, 4]}
  %c = input() {name = "c", dtype = f32, shape = [4, 5]}
  %d = input() {name = "d", dtype = f32, shape = [5, n]}
  %auto = einsum.einsum(%a, %b, %c) {equation = "ij,jk,kl->il", order = "auto", path = [], sliced = [], planner = "flops seed=7"}
  %path = einsum.einsum(%a, %b, %c) {equation = "ij,jk,kl->il", order = "path", path = [1, 2, 0, 1], sliced = [107], planner = ""}
  %left = einsum.einsum(%b, %c, %d) {equation = "ij,jk,kl->il", order = "left", path = [], sliced = [], planner = ""}
  %late = einsum.einsum(%b, %c, %d) {equation = "ij,jk,kl->il", order = "auto", path = [], sliced = [], planner = ""}
  %unused = einsum.einsum(%a) {equation = "ij->ji", order = "auto", path = [], sliced = [], planner = ""}
  %loop = fold(%d) {trips = 4, carried = 1} body (%i : i64[], %x : f32[5, n]) {
    %0 = einsum.einsum(%x) {equation = "ij->ij", order = "auto", path = [], sliced = [], planner = ""}
    %1 = add(%0, %x)
    yield %1
  }
  return a = %auto, p = %path, l = %left, late = %late, f = %loop
}
"""
TREES = """ij,jk,kl->il: multiplies 10^1.81, largest 2^3.322, predicted MS
li  size 2^3.322, multiplies 10^1.60
|- 2: kl  size 2^4.322
`- ki  size 2^3, multiplies 10^1.38
   |- 1: jk  size 2^3.585
   `- 0: ij  size 2^2.585
ij,jk,kl->il: multiplies 10^1.95, largest 2^3.907, predicted MS, 1 label sliced
il  size 2^3.322, multiplies 10^1.48
|- 0: ij  size 2^2.585
`- jl  size 2^3.907, multiplies 10^1.78, sliced k
   |- 1: jk  size 2^3.585
   `- 2: kl  size 2^4.322
ij,jk,kl->il: multiplies 10^1.88, largest 2^3.907, predicted MS
il  size 2^1.585 and 1 open, multiplies 10^1.18
|- ik  size 2^3.907, multiplies 10^1.78
|  |- 0: ij  size 2^3.585
|  `- 1: jk  size 2^4.322
`- 2: kl  size 2^2.322 and 1 open
einsum: the order of "ij,jk,kl->il" is found at run time, from extents that are symbols
ij->ij: multiplies 10^0.00, largest 2^2.322, predicted MS
0: ij  size 2^2.322 and 1 open
"""


class Trees(Instances):
    """Einsum nodes of a graph with their orders."""
    def setUp(self):
        super().setUp()
        (self.folder / "g.weft").write_text(NODES)

    def test_text(self):
        status, out, error = self.weft("opt", "g.weft", "--emit", "trees")
        self.assertEqual((status, error), (OK, ""))
        self.assertEqual(re.sub(r"predicted [0-9.e-]+ ms", "predicted MS", out), TREES)
        (self.folder / "none.weft").write_text(support.GRAPH)
        self.prints("", "opt", "none.weft", "--emit", "trees")

    def test_pictures(self):
        for end in ["svg", "html", "dot"]:
            self.prints("", "view", "g.weft", "-o", f"g.{end}")
        text = (self.folder / "g.svg").read_text()
        root = xml.etree.ElementTree.fromstring(text)
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        for line in ["2^3.322, 10^1.60", "0: ij", "2^2.585", "2^3.907, 10^1.78, sliced k", "2: kl", "2^2.322 and 1 open",
                     'einsum: the order of "ij,jk,kl->il" is found at run time, from extents that are symbols']:
            self.assertIn(line, [text.replace("\u00a0", " ") for text in texts])
        self.assertEqual(text.count('class="cluster tree"'), 5)
        lowest = max(float(y) for y in re.findall(r'translate\(0 ([0-9.]+)\)', text))
        self.assertGreater(float(root.get("height")), lowest)
        self.assertIn('class="cluster tree"', (self.folder / "g.html").read_text())
        dot = (self.folder / "g.dot").read_text()
        self.assertEqual((dot.count("{"), dot.count("cluster_t")), (dot.count("}"), 5))
        self.assertIn('t0_v4 [label="li\\n2^3.322, 10^1.60", tooltip="result of step 1: li, size', dot)
        self.assertIn("t0_v4 -> t0_v2 [dir=none", dot)


class Failures(Instances):
    def test_misuse(self):
        for sentence, arguments in [
                ("an expression and arrays are needed, or --instance; see 'weft help einsum'", ["ij->"]),
                ("the expression comes first, such as 'ij,jk->ik'; 'a.npy' is a file", ["a.npy", "b.npy"]),
                ("'ij->' cannot be combined with --instance", ["ij->", "--instance", "x.json"]),
                ("--dtype requires --instance", ["ij->", "a.npy", "--dtype", "f32"]),
                ("--slice takes labels such as 3,7, not '3,k'", ["--instance", "chain.json", "--slice", "3,k"]),
                ("--slice requires a given order: --order, or --optimize left, path:, ssa: or nested",
                 ["ij->", "a.npy", "--slice", "i"]),
                ("--slice takes labels such as i,j, not 'ij'", ["ij->", "a.npy", "--slice", "ij"]),
                ("--time-budget takes a number above 0 and at most 1e9, not '0'", ["ij->", "a.npy", "--time-budget", "0"]),
                ("--time-budget takes a number above 0 and at most 1e9, not 'nan'", ["ij->", "a.npy", "--time-budget", "nan"]),
                ("--time-budget takes a number above 0 and at most 1e9, not '1s'", ["ij->", "a.npy", "--time-budget", "1s"]),
                *[(f"--time-budget takes a number above 0 and at most 1e9, not '{number}'", ["ij->", "a.npy", "--time-budget", number])
                  for number in [" 1", "+1", "1 ", "0x1p1", "inf", ".", "1e", "1000000001", "1e300"]],
                *[(f"--memory-limit takes a number of bytes from 1 to 2^63 - 1, such as 1048576, 512M or 4G, not '{bytes}'",
                   ["ij->", "a.npy", "--memory-limit", bytes]) for bytes in [" 1", "+1", "-1", "1 k", "k", "1kk"]],
                *[(f"--optimize path: takes pairs such as 0-1,0-1, not '{pairs}'",
                   ["ij->", "a.npy", "--optimize", f"path:{pairs}"])
                  for pairs in [" 0-1", "0- 1", "+0-1", "0--1", "0-1,", "0-1,0", "0", "0,1", "0-1 ", ""]],
                ("--objective takes one of time|flops|size|write|combo, not 'speed'",
                 ["ij->", "a.npy", "--objective", "speed"]),
                ("--time-budget and --moves both say how long to search",
                 ["ij->", "a.npy", "--time-budget", "1", "--moves", "1"]),
                ("--repeat needs a run, which --plan-only leaves out",
                 ["ij->", "a.npy", "--plan-only", "--repeat", "2"]),
                ("--backend needs a run, which --plan-only leaves out",
                 ["ij->", "a.npy", "--plan-only", "--backend", "ref"]),
                ("--check requires --instance", ["ij->", "a.npy", "--check"]),
                ("--check needs an expression without parentheses, to contract it otherwise",
                 ["--instance", "chain.json", "--check", "--optimize", "nested"]),
                ("--tree takes a file that ends in .svg, .dot or .txt, not 'x.png'",
                 ["ij->", "a.npy", "--tree", "x.png"]),
                ("--dtype takes the name of a dtype such as f32, f64 or c64, not 'f8'",
                 ["--instance", "chain.json", "--dtype", "f8"]),
                ("--optimize and --order both say in which order to contract",
                 ["--instance", "chain.json", "--order", "x", "--optimize", "left"]),
                ("--optimize ssa: takes pairs such as 0-1,0-1, not '0-1,2'",
                 ["--instance", "chain.json", "--optimize", "ssa:0-1,2"]),
                ("--optimize takes auto, left, nested, path:0-1,... or ssa:0-1,..., not 'paths:0-1'",
                 ["--instance", "chain.json", "--optimize", "paths:0-1"])]:
            self.refuses(MISUSED, f"einsum: {sentence}", "einsum", *arguments)

    def test_slice_without_the_label(self):
        for given, labels in [(["ij,jk->ik", "a.npy", "b.npy"], ["z", "j,z", "\u0436"]),
                              (["[0 1],[1 2]->[0 2]", "a.npy", "b.npy"], ["3", "1,12"]),
                              (["--instance", "chain.json"], ["5", "1,7"])]:
            for label in labels:
                self.refuses(MISUSED, f"einsum: --slice {label} names a label that no operand has",
                             "einsum", *given, "--optimize", "left", "--slice", label)
        self.refuses(MISUSED, "einsum: --slice 0,1,0 names a label twice",
                     "einsum", "--instance", "chain.json", "--optimize", "left", "--slice", "0,1,0")

    def test_search_without_a_search(self):
        self.write("ordered.json", {**CHAIN, "order": PATH})
        self.write("order", str(PATH))
        chain = ["--instance", "chain.json", "--plan-only"]
        drawn, checked = ["--instance", "chain.json", "--optimize", "left"], ["--check"]
        for search in [["--moves", "10"], ["--time-budget", "0.1"], ["--objective", "flops"], ["--seed", "2"],
                       ["--memory-limit", "1G"]]:
            sentence = f"einsum: {search[0]} is about the search for an order, but the order is given by"
            for given in [[*chain, "--optimize", "left"], [*chain, "--order", "order"],
                          ["ij,jk->ik", "a.npy", "b.npy", "--optimize", "path:0-1"]]:
                self.refuses(MISUSED, f"{sentence} {given[3 if given[0] == '--instance' else -2]}",
                             "einsum", *given, *search)
            self.refuses(MISUSED, f"{sentence} the instance; --optimize auto searches all the same",
                         "einsum", "--instance", "ordered.json", "--plan-only", *search)
            for searched in [chain, ["--instance", "ordered.json", "--plan-only", "--optimize", "auto"]]:
                self.assertEqual(self.weft("einsum", *searched, *search)[::2], (OK, ""))
            found = self.weft("einsum", *drawn, *checked, *search)
            if search[0] == "--memory-limit":
                self.assertEqual(found, (MISUSED, "", f"weft {sentence} --optimize\n"))
            else:
                self.assertEqual(found[::2], (OK, ""))
        sums = {self.weft("einsum", *drawn, "--seed", seed)[1].splitlines()[-1] for seed in "123"}
        self.assertEqual(len(sums), 3)

    def test_broken_members(self):
        self.breaks(json.dumps(CHAIN)[:-1] + ', "inputs": [[0, 1]]}', '"inputs" is there twice')
        self.breaks({**CHAIN, "size": [1, 2, 3, 4, 5]}, '"size" is unknown here; did you mean "sizes"?')
        self.breaks({**CHAIN, "Dtype": "f64"}, '"Dtype" is unknown here; did you mean "dtype"?')
        self.write("more.json", {"name": "chain", "found by": "hand", **CHAIN})
        self.assertEqual(self.plan("--objective", "flops", name="more.json"), PLAN)
        self.write("bad", '{"version": 3, "dispatch_seconds": 1, "dispatch_seconds": 0}')
        self.refuses(FAILED, 'einsum: bad: "dispatch_seconds" is there twice', "einsum", "--instance", "chain.json", "--plan-only",
                     "--machine", "bad")

    def test_deep_files(self):
        for depth in [1001, 5000]:
            self.write("bad.json", '{"a": "[\\"[", "inputs": ' + "[" * depth + "]" * depth + "}")
            status, _, error = self.weft("einsum", "--instance", "bad.json", "--plan-only")
            self.assertEqual(status, FAILED)
            self.assertRegex(error, r"^weft einsum: bad\.json:1:\d+: lists and objects are nested over 1000 deep\n$")

    def test_broken_files(self):
        for text, place in [('{"inputs": [[0, 1],', "1:20: the file ends before its JSON does"), ("", None), ("{", None),
                            ('{\n "inputs": [[0, 1]],\n\t"output": x}', "3:12: invalid JSON"),
                            ('{"inputs": 3} z', "1:15: invalid JSON"), ('{"inputs": 3}\0', "1:14: invalid JSON")]:
            self.write("bad.json", text)
            place = place or f"1:{len(text) + 1}: the file ends before its JSON does"
            self.refuses(FAILED, f"einsum: bad.json:{place}", "einsum", "--instance", "bad.json", "--plan-only")
        self.breaks("[]", "the file holds a list; it must be an object")
        self.breaks({}, 'neither "inputs" (with "output" and "sizes") nor "format_string" (with "shapes" or "sizes") is '
                        'there')
        self.breaks({**CHAIN, **FORMAT}, '"inputs" and "format_string" are two ways to say it; there must be one')
        self.breaks({**CHAIN, "inputs": 3}, '"inputs" is 3; it must be a list')
        self.breaks({**CHAIN, "inputs": []}, '"inputs" is empty; there must be an operand')
        self.breaks({**CHAIN, "inputs": [[0], "ij"]},
                    '"inputs" of operand 1 is the text "ij"; it must be a list of integers')
        self.breaks({**CHAIN, "inputs": [[0], [1, "j"]]},
                    'entry 1 of "inputs" of operand 1 is the text "j", not an integer from 0 to 2^53')
        self.breaks({**CHAIN, "inputs": [[0], [1.5]]},
                    'entry 0 of "inputs" of operand 1 is 1.5, not an integer from 0 to 2^53')
        self.breaks({**CHAIN, "inputs": [[0], [4, 7]]},
                    'label 7 of operand 1 has no size; "sizes" has 5 entries, from 0')
        self.breaks({**CHAIN, "output": [0, 3], "inputs": [[0], [1]]},
                    'label 3 of "output" is in none of the operands, of which there are 2')
        self.breaks({**CHAIN, "sizes": [1, 2, -3, 4, 5]}, 'entry 2 of "sizes" is -3, not an integer from 0 to 2^53')
        for key, end in [("output", ""), ("sizes", " of extents, or an object with one for each label")]:
            self.breaks({name: value for name, value in CHAIN.items() if name != key},
                        f'"{key}" is missing; it must be a list{end}')
        self.breaks({"format_string": "ij->"}, '"sizes" is missing, and so is "shapes"; there must be one of them')
        self.breaks({**FORMAT, "format_string": 3}, '"format_string" is 3; it must be a text')
        self.breaks({**FORMAT, "dtype": "float"}, '"dtype" is "float", which is not a dtype')
        self.breaks({**FORMAT, "dtype": None}, '"dtype" is null; it must be a text')
        self.breaks({**FORMAT, "shapes": [[2, 3]] * 4},
                    "label 'j' has extent 3 at axis 1 of operand 0 but 2 at axis 0 of operand 1")
        self.breaks({**FORMAT, "shapes": [[2, 3]]},
                    'the expression has 4 input terms but 1 operand is given')
        self.breaks({**FORMAT, "shapes": [[2, 3, 4], [3, 4], [4, 5], [5, 6]]},
                    "operand 0 has rank 3 but its term, at byte 1, has 2 labels")
        self.refuses(FAILED, "einsum: none.json cannot be read: No such file or directory",
                     "einsum", "--instance", "none.json")

    def test_broken_sizes(self):
        numbers = {"inputs": [[0, 1], [1]], "output": [0]}
        letters = {"inputs": [["i", "j"], ["j"]], "output": ["i"]}
        for what, sentence in [
                ({**numbers, "sizes": {"0": 2, "1": -1}}, '"1" of "sizes" is -1, not an integer from 0 to 2^53'),
                ({**numbers, "sizes": {"0": 2, "1": "3"}}, '"1" of "sizes" is the text "3", not an integer from 0 to 2^53'),
                ({**numbers, "size_dict": {"0": 2}}, 'label 1 of operand 0 has no size; "size_dict" has no key "1"'),
                ({**numbers, "sizes": {"0": 2, "i": 3}}, 'key "i" of "sizes" is no label: they are integers from 0 here'),
                ({**numbers, "sizes": {"0": 2, "01": 3}}, 'key "01" of "sizes" is no label: they are integers from 0 here'),
                ('{"inputs": [[0]], "output": [], "sizes": {"0": 2, "0": 3}}', 'key "0" is twice in "sizes"'),
                ({**numbers, "sizes": [2], "size_dict": {}},
                 '"sizes" and "size_dict" are two names of one thing; there must be one'),
                ({**numbers, "size_dict": 3},
                 '"size_dict" is 3; it must be a list of extents, or an object with one for each label'),
                ({**letters, "sizes": [2, 3]},
                 '"sizes" is a list, which requires integer labels; there must be an object such as {"i": 4}'),
                ({**letters, "sizes": {"i": 2, "jk": 3}}, 'key "jk" of "sizes" is no label: they are single characters here'),
                ({**letters, "sizes": {"i": 2}}, 'label j of operand 0 has no size; "sizes" has no key "j"'),
                ({**letters, "inputs": [["i", "k12"]]},
                 'entry 1 of "inputs" of operand 0 is the text "k12"; labels are either all integers or all single '
                 'characters'),
                ({**letters, "inputs": [["i", 0]]},
                 'entry 1 of "inputs" of operand 0 is 0; labels are either all integers or all single characters'),
                ({**letters, "inputs": ["ij", "j,k"]},
                 '"inputs" of operand 1 is the text "j,k", in which byte 2 is not a label'),
                ({**letters, "output": "i->"}, '"output" is the text "i->", in which byte 2 is not a label'),
                ({**letters, "inputs": ["ij", 3]}, '"inputs" of operand 1 is 3; it must be a list of labels'),
                ({"format_string": "i...,j->", "sizes": {"i": 2, "j": 3}},
                 'sizes of labels do not say what the ellipsis stands for; there must be "shapes"'),
                ({**letters, "output": ["k"], "sizes": {"i": 2, "j": 3}},
                 "label 'k' of \"output\" is in none of the operands, of which there are 2")]:
            with self.subTest(what):
                self.breaks(what, sentence)

    def test_broken_orders(self):
        chain = ["einsum", "--instance", "chain.json", "--plan-only", "--order", "order"]
        for text, sentence in [
                ("[(0, 1), (0, 2)]", "1:16: the list ends after 2 steps with 2 values left, which must be one; there are "
                                     "4 operands"),
                ("[(0, 1),\n (0, 2),\n (0, 7)]", "3:6: step 2 takes position 7, but positions go from 0 to 1 then"),
                ("[(0, 1), (2, 4), (4, 5)]", "1:19: step 2 takes value 4, which was taken before"),
                ("[(0, 1), (1, 4), (5, 3)]", "1:11: step 1 takes value 1, which was taken before"),
                ("[(0, 5), (1, 4), (2, 3)]", "1:6: step 0 takes value 5, but values go from 0 to 3 then"),
                ("[(0, 1), (1, 1), (0, 1)]", "1:14: step 1 takes position 1, which was taken before"),
                ("[(0, 1, 2, 3), (0, 0)]", "1:20: step 1 takes position 0, which was taken before"),
                ("['einsum_path', (0, 1)]", "1:23: the list ends after 1 step with 3 values left, which must be one; there "
                                            "are 4 operands"),
                ("(0, (1, (2, 5)))", "1:13: the tree has operand 5, but there are 4, from 0"),
                ("(0, (1, (2, 2)))", "1:13: the tree has operand 2 twice"),
                ("((0, 1), 3)", "1:11: the tree has 3 of the 4 operands; operand 2 is missing"),
                ("[(0, 1), (0, x)]", "1:14: 'x' is not allowed in an order, which is a list of steps such as "
                                     "[(0, 1), (0, 1)] or a tree such as ((0, 1), 2)"),
                ("[(0 1)]", "1:5: a comma is missing before '1'"),
                ("[(0, 1]", "1:7: ']' does not close '('"),
                ("[(0, 1)", "1:1: this '[' is never closed"),
                ("(0, (1, (2, 3))) 4", "1:18: the order ended before '4'"),
                ("(0, 1))", "1:7: ')' closes nothing"),
                ("0, 1", "1:2: the order has no bracket around it, but a comma"),
                ("[(, 1)]", "1:3: there is nothing before the comma"),
                ("[(), (0, 1)]", "1:2: nothing stands between these brackets"),
                ("[(0, 99999999999)]", "1:6: no operand has a number as large as this one"),
                (" ", "1:2: the order is empty; that of one operand is [] or 0")]:
            with self.subTest(text):
                self.write("order", text)
                status, _, error = self.weft(*chain)
                self.assertEqual((status, error), (FAILED, f"weft einsum: order:{sentence}\n"))
        self.breaks({**CHAIN, "order": [[0, 1], [0, 3]]}, '"order":1:11: step 1 takes position 3, but positions go from 0 to '
                                                          "2 then")
        self.breaks({**CHAIN, "order": "left"}, '"order" is the text "left"; it must be a list')


if __name__ == "__main__":
    main()
