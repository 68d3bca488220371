# SPDX-License-Identifier: Apache-2.0
"""Pictures of ten graphs: no text lies over another or over a box's edge, and all of it is there: picture.py WEFT."""
import itertools
import json
import pathlib
import re
import signal
import subprocess
import time
import unittest
import xml.etree.ElementTree

from support import GRAPH, MISUSED, OK, WEFT, Command, main

GRAPHS = pathlib.Path(__file__).with_name("pictures")
CHARACTER = 0.6  # of the size of a font
SVG = "{http://www.w3.org/2000/svg}"


def chain(count):
    lines = "".join(f"  %{i} = sort(%{i - 1 if i else 'x'}) {{axis = 0, descending = false}}\n" if i % 5 == 4 else
                    f"  %{i} = exp(%{i - 1 if i else 'x'})\n" for i in range(count))
    return f'weft 0.1\ngraph {{\n  %x = input() {{name = "x", dtype = f32, shape = [64]}}\n{lines}  return y = %{count - 1}\n}}\n'


def fan(count):
    inputs = "".join(f'  %w{i} = input() {{name = "w{i}", dtype = f32, shape = [8, 8]}}\n' for i in range(count))
    lines = "".join(f"  %{i} = dot(%x, %w{i}) {{batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]}}\n"
                    for i in range(count))
    names = ", ".join(f"y{i} = %{i}" for i in range(count))
    return ('weft 0.1\ngraph {\n  %x = input() {name = "x", dtype = f32, shape = [8, 8]}\n'
            f"{inputs}{lines}  return {names}\n}}\n")


ODD = r"""weft 0.1
graph {
  %x = input() {name = "x", dtype = f32, shape = [3]}
  %0 = exp(%x)
  return "</script><b>&amp;" = %0, "{|}\\" = %x, "a \"b\" & &lt; ]]>" = %0, "-->\n\x1b ж漢字" = %x
}
"""
CONSTANT = "weft 0.1\ngraph {\n  %0 = constant() {dtype = f32, shape = [], data = [1]}\n  return y = %0\n}\n"
CAPTURED = """weft 0.1
graph {
  %x = input() {name = "x", dtype = f32, shape = [4]}
  %w = input() {name = "w", dtype = f32, shape = [4]}
  %0, %1 = fold(%x, %w) {trips = 5, carried = 2} body (%index : i64[], %carried0 : f32[4], %carried1 : f32[4]) {
    %0 = exp(%carried0)
    %1 = add(%carried1, %carried0)
    yield %0, %1
  }
  %2 = fold(%0, %w, %1) {trips = 5, carried = 1} body (%index : i64[], %carried0 : f32[4], %captured0 : f32[4], %captured1 : f32[4]) {
    %0 = mul(%carried0, %captured0)
    %1 = add(%0, %captured1)
    yield %1
  }
  return y = %2
}
"""
MADE = {"chain": chain(40), "fan": fan(24), "odd": ODD, "constant": CONSTANT, "broadcast": GRAPH}


def escape(name):
    """As names are shown: one line of characters that can be printed."""
    return name.replace("\n", "\\n").replace("\x1b", "\\x1b")


class Box:
    def __init__(self, points):
        xs, ys = zip(*points)
        self.left, self.right, self.top, self.bottom = min(xs), max(xs), min(ys), max(ys)

    def overlaps(self, other, slack=0.5):
        return (self.left < other.right - slack and other.left < self.right - slack and
                self.top < other.bottom - slack and other.top < self.bottom - slack)

    def contains(self, other, slack=1.0):
        return (self.left <= other.left + slack and other.right <= self.right + slack and
                self.top <= other.top + slack and other.bottom <= self.bottom + slack)

    def distance(self, x, y):
        return max(self.left - x, x - self.right, self.top - y, y - self.bottom, 0)


def points(text, move):
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", text)]
    return [(x + move[0], y + move[1]) for x, y in zip(numbers[::2], numbers[1::2])]


class Picture:
    """Texts, boxes and arrows of an SVG, in its own coordinates."""

    def __init__(self, path):
        root = xml.etree.ElementTree.parse(path).getroot()
        left, top, width, height = map(float, root.get("viewBox").split())
        self.whole = Box([(left, top), (left + width, top + height)])
        self.texts, self.boxes, self.frames, self.edges = [], [], [], []
        self.walk(root, (0, 0), None)

    def walk(self, element, move, group):
        for x, y in re.findall(r"translate\(([-\d.]+) ([-\d.]+)\)", element.get("transform", "")):
            move = (move[0] + float(x), move[1] + float(y))
        kinds = element.get("class", "").split()
        if element.tag == SVG + "g" and {"node", "edge", "cluster"} & set(kinds):
            group = {"kinds": kinds, "shape": None, "texts": [], "ends": []}
            {"node": self.boxes, "edge": self.edges, "cluster": self.frames}[kinds[0]].append(group)
        if element.tag == SVG + "text":
            self.add_text(element, move, group)
        elif group and (element.get("points") or element.get("d")):
            self.add_shape(group, points(element.get("points") or element.get("d"), move))
        for child in element:
            self.walk(child, move, group)

    def add_shape(self, group, found):
        if group["shape"] is None:
            group["shape"] = Box(found)
            group["ends"].append(found[0])
        elif group["kinds"][0] == "edge":
            group["ends"].append(found[1])  # the tip of the arrow's head

    def add_text(self, element, move, group):
        size = float(element.get("font-size"))
        x, y = float(element.get("x")) + move[0], float(element.get("y")) + move[1]
        width = CHARACTER * size * sum(2 if ord(c) > 0x2e80 else 1 for c in element.text)
        left = x - {"middle": width / 2, "start": 0}[element.get("text-anchor")]
        text = (element.text.replace("\u00a0", " ").replace("\u2060", ""),
                Box([(left, y - 0.75 * size), (left + width, y + 0.2 * size)]))
        self.texts.append(text)
        if group:
            group["texts"].append(text)

    def labels(self):
        return [text for text, _ in self.texts]


class Pictures(Command):
    def draw(self, name, *more):
        self.prints("", "view", f"{name}.weft", "-o", f"{name}.svg", *more)
        return Picture(self.folder / f"{name}.svg")

    def setUp(self):
        super().setUp()
        for path in GRAPHS.glob("*.weft"):
            (self.folder / path.name).write_text(path.read_text())
        for name, text in MADE.items():
            (self.folder / f"{name}.weft").write_text(text)
        self.names = sorted([path.stem for path in GRAPHS.glob("*.weft")] + list(MADE))

    def check(self, picture):
        for (a, first), (b, second) in itertools.combinations(picture.texts, 2):
            self.assertFalse(first.overlaps(second), f"{a!r} lies over {b!r}")
        for text, box in picture.texts:
            self.assertTrue(picture.whole.contains(box), f"{text!r} lies outside")
        for node in picture.boxes:
            for text, box in node["texts"]:
                self.assertTrue(node["shape"] is None or node["shape"].contains(box), f"{text!r} is too wide")
            for other, box in picture.texts:
                inside = (other, box) in node["texts"]
                self.assertTrue(inside or node["shape"] is None or not node["shape"].overlaps(box), f"a box lies over {other!r}")
        for a, b in itertools.combinations([node["shape"] for node in picture.boxes if node["shape"]], 2):
            self.assertFalse(a.overlaps(b), "two boxes")

    def check_arrows(self, picture):
        shapes = {}
        for node in picture.boxes:
            for kind in node["kinds"]:
                shapes.setdefault(kind, []).append(node["shape"])
        for edge in picture.edges:
            for letter, (x, y) in zip(["from", "to"], edge["ends"]):
                for kind in edge["kinds"]:
                    found = re.fullmatch(letter + r"(\d+)", kind)
                    if found:
                        distance = min(shape.distance(x, y) for shape in shapes["n" + found[1]])
                        self.assertLess(distance, 3, f"{edge['kinds']} ends beside its box")

    def test_ten(self):
        self.assertEqual(len(self.names), 10)
        for name, more in itertools.product(self.names, [[], ["--every-op"]]):
            with self.subTest(name, more=more):
                picture = self.draw(name, *more)
                self.check(picture)
                self.check_arrows(picture)

    def test_all_is_there(self):
        """Every op, name and type that the page knows of, and every step."""
        for name in self.names:
            with self.subTest(name):
                picture = self.draw(name, "--every-op")
                self.prints("", "view", f"{name}.weft", "-o", f"{name}.html")
                page = (self.folder / f"{name}.html").read_text()
                told = json.loads(re.search(r'id="data">\n(.*?)\n</script>', page, re.DOTALL)[1])
                labels = picture.labels()
                for node in told["nodes"]:
                    shown = node.get("name", "") if node["op"] in ("input", "output") else node["op"]
                    self.assertTrue(any(label.startswith(escape(shown)) for label in labels), shown)
                steps = {node["step"] for node in told["nodes"] if "step" in node}
                for step in told["steps"]:
                    if step["number"] in steps:
                        self.assertIn(f"step {step['number']}: {step['kind']}", labels)
                drawn = {kind for node in picture.boxes for kind in node["kinds"] if re.fullmatch(r"n\d+", kind)}
                self.assertEqual(drawn, {f"n{i}" for i in range(len(told["nodes"]))})
                for edge in picture.edges:
                    source = [int(kind[4:]) for kind in edge["kinds"] if kind.startswith("from")]
                    if source:
                        self.assertIn(edge["texts"][0][0], told["nodes"][source[0]]["types"])

    def test_titles(self):
        """A region has its title once: its steps do not repeat it."""
        labels = self.draw("regions").labels()
        titles = [label for label in labels if " of step " in label]
        self.assertGreater(len(titles), 2)
        self.assertEqual(len(titles), len(set(titles)))

    def test_numbers(self):
        """A constant of rank 0 shows its number."""
        self.assertIn("constant 1", self.draw("constant").labels())

    def test_what_is_captured(self):
        """Has its name around the region, or says what computes it there."""
        (self.folder / "captured.weft").write_text(CAPTURED)
        labels = self.draw("captured").labels()
        self.assertIn("captured0 = w", labels)
        self.assertIn("captured1 = result 1 of fold", labels)
        self.assertIn("carried0", labels)

    def test_folds_what_moves(self):
        folded, whole = self.draw("broadcast"), self.draw("broadcast", "--every-op")
        self.assertNotIn("broadcast", folded.labels())
        self.assertIn("broadcast", whole.labels())
        label = [text for text, _ in next(edge for edge in folded.edges if any(kind.startswith("by") for kind in edge["kinds"]))["texts"]]
        self.assertEqual(label, ["f32[3]", "broadcast f32[n, 3]"])
        self.refuses(MISUSED, "run: --every-op requires --view",
                     "run", "broadcast.weft", "a.npy", "w.npy", "--every-op")
        self.prints("", "run", "broadcast.weft", "x=a.npy", "w=w.npy", "-o", "total=t.npy", "--view", "r.svg", "--every-op")
        self.assertIn("broadcast", Picture(self.folder / "r.svg").labels())

    def test_nothing_of_the_machine(self):
        """No fonts, no configuration, no locale, no word on the error stream."""
        self.draw("attention")
        environment = {"PATH": "/nowhere", "HOME": "/nowhere", "LC_ALL": "de_DE.UTF-8", "FONTCONFIG_FILE": "/dev/null",
                       "GVBINDIR": "/nowhere"}
        done = subprocess.run([WEFT, "view", "attention.weft", "-o", "other.svg"], cwd=self.folder, env=environment,
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (OK, ""))
        self.assertEqual((self.folder / "other.svg").read_text(), (self.folder / "attention.svg").read_text())

    def test_large(self):
        """A network of 2,000 nodes, a seventh of them folded, in bounded time."""
        lines, value = ['weft 0.1\nsymbol n in [1, 64]\ngraph {\n  %x = input() {name = "x", dtype = f32, shape = [n, 32]}\n'], "%x"
        for i in range(285):
            lines.append(f"""  %w{i} = input() {{name = "w{i}", dtype = f32, shape = [32, 32]}}
  %b{i} = input() {{name = "b{i}", dtype = f32, shape = [32]}}
  %{5 * i} = dot({value}, %w{i}) {{batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]}}
  %{5 * i + 1} = broadcast(%b{i}) {{shape = [n, 32], axes = [1]}}
  %{5 * i + 2} = add(%{5 * i}, %{5 * i + 1})
  %{5 * i + 3} = tanh(%{5 * i + 2})
  %{5 * i + 4} = add(%{5 * i + 3}, {value})
""")
            value = f"%{5 * i + 4}"
        (self.folder / "large.weft").write_text("".join(lines) + f"  return y = {value}\n}}\n")
        picture = self.draw("large")
        self.assertEqual(len(picture.frames), 2 * 285)
        self.assertEqual(sum(len(edge["texts"]) > 0 for edge in picture.edges), 7 * 285 + 1)

    def test_interrupted(self):
        """The drawing of what takes long ends by the first signal, and leaves no file."""
        count = 700
        lines = "".join(f"  %{i} = tanh(%{i - 1 if i else 'x'})\n" for i in range(count))
        sums = "".join(f"  %{count + i} = sort(%{i}) {{axis = 0, descending = false}}\n" for i in range(count))
        more = "".join(f"  %{2 * count + i} = add(%{2 * count - 1 - i}, %{2 * count + i - 1 if i else 0})\n" for i in range(count))
        (self.folder / "long.weft").write_text('weft 0.1\ngraph {\n  %x = input() {name = "x", dtype = f32, shape = [4]}\n'
                                               f"{lines}{sums}{more}  return y = %{3 * count - 1}\n}}\n")
        process = subprocess.Popen([WEFT, "view", "long.weft", "-o", "long.svg"], cwd=self.folder, stderr=subprocess.PIPE,
                                   text=True)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while process.poll() is None and not children.read_text():
            time.sleep(0.01)
        child = int(children.read_text().split()[0])
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=30)[1]
        self.assertEqual((process.returncode, error), (130, "weft view: interrupted while it was drawn\n"))
        self.assertFalse(pathlib.Path(f"/proc/{child}").exists())
        self.assertFalse((self.folder / "long.svg").exists())


if __name__ == "__main__":
    main()
