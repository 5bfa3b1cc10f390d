#!/usr/bin/env python3
"""Makes the inputs of the programs in corpus/, byte for byte the same on every run.

Owns the way from published sources and seeds to images, texts, patterns, graphs and keys. Leaves JPEGs to
scripts/corpus.sh, which has an encoder, the scripts in lua/ to whoever wrote them, and licences to README.md.

Usage: data/workload/make.py SOURCES CACHE OUT      (SOURCES has the unpacked sources of libjpeg-turbo and Lua)
"""

import bz2
import hashlib
import pathlib
import random
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGE = "scipy==1.11.4"  # its wheel holds the photograph
MEMBER, MEMBER_SHA256 = "scipy/misc/face.dat", "9d8b0b4d081313e2b485748c770472e5a95ed1738146883d84c7030493e82886"
WIDTH, HEIGHT = 1024, 768
SEED = 20061023


class Image:
    """Rows of (red, green, blue)."""

    def __init__(self, rows):
        self.rows = rows

    def crop(self, left, top, width, height):
        return Image([row[left:left + width] for row in self.rows[top:top + height]])

    def shrink(self, by):
        """The mean of each square of `by` pixels, rounded down."""
        return Image([
            [
                tuple(
                    sum(self.rows[by * y + j][by * x + i][c] for j in range(by) for i in range(by)) // (by * by)
                    for c in range(3)
                )
                for x in range(len(self.rows[0]) // by)
            ]
            for y in range(len(self.rows) // by)
        ])

    def ppm(self):
        head = f"P6\n{len(self.rows[0])} {len(self.rows)}\n255\n".encode()
        return head + bytes(value for row in self.rows for pixel in row for value in pixel)

    def pgm(self):
        """Luminance after ITU-R BT.601, in 256ths."""
        head = f"P5\n{len(self.rows[0])} {len(self.rows)}\n255\n".encode()
        return head + bytes((77 * r + 150 * g + 29 * b) >> 8 for row in self.rows for r, g, b in row)


def photograph(cache: pathlib.Path) -> Image:
    cache.mkdir(parents=True, exist_ok=True)
    if not list(cache.glob("scipy-*.whl")):
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
             "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311",
             "--platform", "manylinux2014_x86_64", "--dest", str(cache), PACKAGE],
            check=True,
        )
    (wheel,) = cache.glob("scipy-*.whl")
    packed = zipfile.ZipFile(wheel).read(MEMBER)
    found = hashlib.sha256(packed).hexdigest()
    if found != MEMBER_SHA256:
        sys.exit(f"error: {MEMBER}: SHA-256 is {found}, expected {MEMBER_SHA256}")
    bytes_ = bz2.decompress(packed)
    assert len(bytes_) == WIDTH * HEIGHT * 3
    pixels = [tuple(bytes_[3 * i:3 * i + 3]) for i in range(WIDTH * HEIGHT)]
    return Image([pixels[WIDTH * y:WIDTH * (y + 1)] for y in range(HEIGHT)])


def read_ppm(path: pathlib.Path) -> Image:
    data = path.read_bytes()
    head = re.match(rb"P6\s+(\d+)\s+(\d+)\s+255\s", data)
    width, height = int(head[1]), int(head[2])
    pixels = [tuple(data[head.end() + 3 * i:head.end() + 3 * i + 3]) for i in range(width * height)]
    return Image([pixels[width * y:width * (y + 1)] for y in range(height)])


def chart(draw: random.Random, width: int, height: int) -> Image:
    """Ramps, boxes with corners, discs and a corner of noise."""
    rows = [[(x * 255 // width, y * 255 // height, (x + y) * 255 // (width + height)) for x in range(width)]
            for y in range(height)]
    for _ in range(12):
        left, top = draw.randrange(width - 24), draw.randrange(height - 20)
        colour = tuple(draw.randrange(256) for _ in range(3))
        is_disc, size = draw.randrange(2), draw.randrange(6, 20)
        for y in range(size):
            for x in range(size):
                if not is_disc or (2 * x - size) ** 2 + (2 * y - size) ** 2 < size * size:
                    rows[top + y][left + x] = colour
    for y in range(height * 3 // 4, height):
        for x in range(width * 3 // 4, width):
            rows[y][x] = tuple((value + draw.randrange(64)) % 256 for value in rows[y][x])
    return Image(rows)


def images(sources: pathlib.Path, cache: pathlib.Path):
    face = photograph(cache)
    large = {
        "testorig": read_ppm(sources / "libjpeg-turbo/testimages/testorig.ppm"),
        "raccoon": face.shrink(6),
        "eyes": face.crop(470, 150, 160, 120),
        "leaves": face.crop(40, 560, 160, 120),
        "chart": chart(random.Random(SEED), 176, 128),
    }
    for name, image in large.items():
        yield f"images/{name}.ppm", image.ppm()
    small = {
        "testorig": large["testorig"].crop(50, 30, 112, 84),
        "raccoon": face.shrink(8).crop(8, 6, 112, 84),
        "eyes": large["eyes"].crop(20, 20, 112, 84),
        "leaves": large["leaves"].crop(20, 20, 112, 84),
        "chart": large["chart"].crop(64, 44, 112, 84),
    }
    for name, image in small.items():
        yield f"images/{name}.pgm", image.pgm()


def texts(sources: pathlib.Path):
    draw = random.Random(SEED)
    genome = "".join("\n" if i % 61 == 60 else draw.choice("acgt") for i in range(30_500))
    samples = (ROOT / "data/ecg/ecg.csv").read_text().split("\n")[1:]
    recording = "".join(" ".join(samples[i:i + 16]) + "\n" for i in range(0, 12_800, 16))
    manual = re.sub(r"<[^>]*>", "", (sources / "lua5.4/doc/manual.html").read_text(encoding="latin1"))
    whole = {
        "library": (sources / "libjpeg-turbo/libjpeg.txt").read_text(),
        "wizard": (sources / "libjpeg-turbo/wizard.txt").read_text(),
        "manual": manual,
        "samples": recording,
        "genome": genome,
    }
    for name, text in whole.items():
        # From the middle: a text of its own begins with a table of contents.
        text = text.encode("ascii", "replace").decode()
        start = text.index("\n", min(len(text) // 4, 40_000)) + 1 if len(text) > 24_000 else 0
        text = text[start:start + 24_000]
        yield f"texts/{name}.txt", text.encode()
        yield f"texts/{name}.patterns", patterns(random.Random(SEED + len(text)), text).encode()


def patterns(draw: random.Random, text: str) -> str:
    """Words and phrases that are there, and, with letters exchanged, some that are hardly there."""
    lines = []
    words = [line for line in text.splitlines() if len(line) > 12]
    for index in range(64):
        line = draw.choice(words).strip()
        start = draw.randrange(max(1, len(line) - 8))
        pattern = line[start:start + draw.choice((4, 5, 6, 8, 12, 16))]
        if index % 3 == 2:
            letters = list(pattern)
            draw.shuffle(letters)
            pattern = "".join(letters)
        lines.append(pattern)
    return "\n".join(lines) + "\n"


def graph(draw: random.Random, nodes: int, arcs, queries: int) -> bytes:
    lines = [f"n {nodes} {len(arcs)}"] + ["a %d %d %d" % arc for arc in arcs]
    lines += [f"q {draw.randrange(nodes)} {draw.randrange(nodes)}" for _ in range(queries)]
    return ("\n".join(lines) + "\n").encode()


def graphs():
    draw = random.Random(SEED)
    side = 40
    streets = [(y * side + x, (y + j) * side + x + i, draw.randrange(10, 100))
               for y in range(side) for x in range(side) for i, j in ((1, 0), (-1, 0), (0, 1), (0, -1))
               if 0 <= x + i < side and 0 <= y + j < side]
    yield "graphs/streets.txt", graph(draw, side * side, streets, 12)
    sparse = [(draw.randrange(2000), draw.randrange(2000), draw.randrange(1, 1000)) for _ in range(6000)]
    yield "graphs/sparse.txt", graph(draw, 2000, sparse, 10)
    dense = [(i, j, draw.randrange(1, 1000)) for i in range(100) for j in range(100) if i != j]
    yield "graphs/dense.txt", graph(draw, 100, dense, 40)
    ring = [(i, (i + step) % 1500, step * draw.randrange(8, 12)) for i in range(1500) for step in (1, 7, 60)]
    yield "graphs/ring.txt", graph(draw, 1500, ring, 12)
    places = [(draw.randrange(10_000), draw.randrange(10_000)) for _ in range(900)]
    roads = []
    for i, (x, y) in enumerate(places):
        near = sorted((abs(x - u) + abs(y - v), j) for j, (u, v) in enumerate(places) if j != i)[:5]
        roads += [(i, j, far) for far, j in near] + [(j, i, far) for far, j in near]
    yield "graphs/roads.txt", graph(draw, 900, roads, 16)


def keys():
    """Secret numbers on sect233k1, of 231 bits, for a measurement: they protect nothing."""
    draw = random.Random(SEED)
    for index in range(5):
        yield f"keys/{index}.secret", f"{draw.getrandbits(231):060x}\n".encode()


def main() -> None:
    sources, cache, out = (pathlib.Path(word) for word in sys.argv[1:4])
    for made in (images(sources, cache), texts(sources), graphs(), keys()):
        for name, content in made:
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


if __name__ == "__main__":
    main()
