#!/usr/bin/env python3
"""Writes the circuits of S-boxes that firmware/crypto/block computes bits with, as C.

Owns how they are put together and written, and proves each over its whole table before it writes; what is searched by
trial is scripts/circuits.c's.

AES: the inversion in GF(2^8) over GF(2^4) and GF(2^2) in normal bases, as Canright has it (CHES 2005), where what is
linear is two straight-line programs, found by the greedy way of Boyar and Peralta ("A new combinational logic
minimization technique", 2010): the next sum is the one that brings all targets nearest. The second is found transposed.
All towers of normal bases of trace 1 are tried. The inversion in GF(2^4) comes from the search.

DES: each S-box as the search found it.

Usage: scripts/circuits.py aes CIRCUITS [RUNS]      CIRCUITS is scripts/circuits.c compiled
       scripts/circuits.py des FOUND..              what it printed for each of the eight S-boxes, in order
"""

import itertools
import pathlib
import random
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BLOCK = HERE.parent / "firmware" / "crypto" / "block"
LINE_CHARACTERS = 110
SEED = 1


# GF(2^8) of AES (FIPS 197 section 4).


def times(a: int, b: int) -> int:
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a = a << 1 ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return product


def power(a: int, n: int) -> int:
    result = 1
    for _ in range(n):
        result = times(result, a)
    return result


def spread(byte: int) -> int:
    """The linear part of the S-box."""
    return byte ^ sum_of(((byte << i | byte >> 8 - i) & 0xFF) for i in range(1, 5))


def sum_of(vectors) -> int:
    total = 0
    for vector in vectors:
        total ^= vector
    return total


def bits(number: int, count: int) -> list[int]:
    return [number >> i & 1 for i in range(count)]


INVERSE = [power(x, 254) for x in range(256)]
GATHER = {spread(x): x for x in range(256)}


# Straight-line programs: sums of two, each a triple of operands and sum, as vectors over the inputs.


def program(targets, inputs: int, chance: random.Random, limit: int):
    """A random one for all targets, of fewer sums than `limit`."""
    there = [1 << i for i in range(inputs)]
    distance = [vector.bit_count() for vector in range(1 << inputs)]
    slack = chance.choice([0, 0, 0, 2, 100])
    sums = []
    while True:
        left = [target for target in dict.fromkeys(targets) if target not in there]
        if not left:
            return sums
        if len(sums) + len(left) >= limit:
            return None
        near = [target for target in left if distance[target] == 2]
        if not near:
            ranks = {}
            for vector in {a ^ b for a, b in itertools.combinations(there, 2)} - set(there):
                distances = [min(distance[target], distance[target ^ vector] + 1) for target in left]
                ranks.setdefault(sum(distances), []).append((sum(d * d for d in distances), vector))
            nearest = ranks[min(ranks)]
            longest = max(nearest)[0]
            near = [vector for norm, vector in sorted(nearest) if norm >= longest - slack]
        vector = chance.choice(near)
        operand = chance.choice([a for a in there if a ^ vector in there])
        sums.append((operand, operand ^ vector, vector))
        there.append(vector)
        distance = [min(distance[v], distance[v ^ vector] + 1) for v in range(1 << inputs)]


def shortest(targets, inputs: int, runs: int):
    chance, best = random.Random(SEED), None
    for _ in range(runs):
        found = program(targets, inputs, chance, len(best) if best else 1000)
        best = found if found is not None else best
    return best


class Gates:
    """Gates under way, as text of C and as functions of the inputs' table."""

    def __init__(self, inputs: list[str], values: list[int], everywhere: int):
        self.names, self.values, self.everywhere = list(inputs), dict(zip(inputs, values)), everywhere
        self.lines = []

    def gate(self, a: str, operation: str, b: str = "") -> str:
        name = f"t{len(self.lines)}"
        x, y = self.values[a], self.values.get(b, 0)
        value = {"&": x & y, "|": x | y, "^": x ^ y, "~": self.everywhere & ~x}[operation]
        self.values[name] = value
        self.lines.append(f"{name} = ~{a}" if operation == "~" else f"{name} = {a} {operation} {b}")
        return name

    def sums(self, program, names: list[str]) -> dict[int, str]:
        """A straight-line program over signals: the name of each vector."""
        known = {1 << i: name for i, name in enumerate(names)}
        for a, b, vector in program:
            known[vector] = self.gate(known[a], "^", known[b])
        return known

    def transposed(self, program, inputs: int, terms: list[tuple[int, str]]) -> list[str]:
        """The program backwards: output i is the sum of the terms whose vectors have bit i."""
        pending = {}
        for vector, name in terms:
            pending.setdefault(vector, []).append(name)
        for a, b, vector in reversed(program):
            name = self.total(pending.pop(vector))
            pending.setdefault(a, []).append(name)
            pending.setdefault(b, []).append(name)
        return [self.total(pending[1 << i]) for i in range(inputs)]

    def total(self, names: list[str]) -> str:
        name = names[0]
        for other in names[1:]:
            name = self.gate(name, "^", other)
        return name

    def found(self, text: str, inputs: list[str]) -> list[str]:
        """A circuit of scripts/circuits.c: the names of its outputs."""
        names, outputs = dict(enumerate(inputs)), []
        for words in map(str.split, text.strip().splitlines()):
            if words[0] == "out":
                outputs.append(names[int(words[2][1:])])
            elif words[1] == "=":
                operands = [names[int(word.strip("~s"))] for word in words[2:] if "s" in word]
                operation = words[3] if len(operands) == 2 else "~"
                names[int(words[0][1:])] = self.gate(operands[0], operation, *operands[1:])
        return outputs

    def text(self) -> str:
        """As declarations, several a line."""
        lines, line = [], ""
        for gate in self.lines:
            joined = f"{line}, {gate}" if line else f"    const uint32_t {gate}"
            if len(joined) >= LINE_CHARACTERS:
                lines.append(f"{line};")
                joined = f"    const uint32_t {gate}"
            line = joined
        return "\n".join([*lines, f"{line};"])


def last_found(printed: str) -> str:
    """The smallest circuit that scripts/circuits.c printed, without the line that counts it."""
    return printed.split(" gates\n")[-2].rsplit("\n", 1)[0]


# AES's circuit.


def nine(v):
    """What is multiplied bit by bit for a product in GF(2^4), of coordinates in the order of `tower`."""
    pairs = [(v[0], v[1]), (v[2], v[3]), (v[0] ^ v[2], v[1] ^ v[3])]
    return [form for a, b in pairs for form in (a, b, a ^ b)]


def towers():
    """Normal bases of trace 1 of each field over the next: one element of each."""
    half = [x for x in range(256) if power(x, 16) == x]
    quarter = [x for x in half if power(x, 4) == x]
    for y in (y for y in range(256) if y not in half and y ^ power(y, 16) == 1):
        for z in (z for z in half if z not in quarter and z ^ power(z, 4) == 1):
            yield y, z, next(w for w in quarter if w > 1)


class Tower:
    """What AES's S-box without its constant, or its inverse, is linearly in one tower."""

    def __init__(self, y: int, z: int, w: int, is_inverse: bool):
        high = power(y, 16)
        self.small = [times(a, b) for a in (power(z, 4), z) for b in (power(w, 2), w)]
        basis = [times(a, b) for a in (high, y) for b in self.small]
        coordinates = {self.element(number, basis): number for number in range(256)}
        before = (lambda x: GATHER[x]) if is_inverse else (lambda x: x)
        after = (lambda x: x) if is_inverse else spread
        images = [coordinates[before(1 << j)] for j in range(8)]
        forms = [sum_of(1 << j for j in range(8) if images[j] >> i & 1) for i in range(8)]
        self.first, self.second = nine(forms[:4]), nine(forms[4:])
        # The norm: a product, and a square that is linear.
        scaled = [self.coordinates(times(times(y, high), times(b, b))) for b in self.small]
        both = [forms[i] ^ forms[i + 4] for i in range(4)]
        self.square = [sum_of(both[i] for i in range(4) if scaled[i] >> k & 1) for k in range(4)]
        self.product = self.recombination()
        self.inversion = [self.coordinates(INVERSE[self.element(number, self.small)]) for number in range(16)]
        places = [[after(times(self.element(part, self.small), by)) for part in self.product] for by in (high, y)]
        self.out = places[0] + places[1]

    @staticmethod
    def element(number: int, basis) -> int:
        return sum_of(b for i, b in enumerate(basis) if number >> i & 1)

    def coordinates(self, element: int) -> int:
        return next(number for number in range(16) if self.element(number, self.small) == element)

    def recombination(self) -> list[int]:
        """Which coordinates of a product each of the nine bits is added to: by elimination over all products."""
        pivots = {}
        for a, b in itertools.product(range(16), repeat=2):
            row = sum((x & y) << k for k, (x, y) in enumerate(zip(nine(bits(a, 4)), nine(bits(b, 4)))))
            value = self.coordinates(times(self.element(a, self.small), self.element(b, self.small)))
            while row and row.bit_length() - 1 in pivots:
                pivot = pivots[row.bit_length() - 1]
                row, value = row ^ pivot[0], value ^ pivot[1]
            if row:
                pivots[row.bit_length() - 1] = (row, value)
        parts = []
        for k in range(9):
            row, value = pivots[k]
            parts.append(value ^ sum_of(parts[j] for j in range(k) if row >> j & 1))
        return parts

    def programs(self, runs: int):
        first = shortest(self.first + self.second + self.square, 8, runs)
        return first, shortest(self.product, 4, runs), shortest(self.out, 8, runs)


def inversion(tower: Tower, circuits: str) -> str:
    """The nine forms of the inverse in GF(2^4), by search."""
    entries = [sum(bit << k for k, bit in enumerate(nine(bits(value, 4)))) for value in tower.inversion]
    line = [circuits, "3", "40", "4", "9", *map(str, entries)]
    found = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    return last_found(found)


def aes_function(name: str, what: str, is_inverse: bool, circuits: str, runs: int) -> str:
    choices = [Tower(*elements, is_inverse) for elements in towers()]
    programs = [tower.programs(runs) for tower in choices]
    tower, (first, middle, last) = min(zip(choices, programs), key=lambda pair: sum(map(len, pair[1])))
    inputs = [f"x{i}" for i in range(8)]
    table = [sum(1 << x for x in range(256) if x >> i & 1) for i in range(8)]
    gates = Gates(inputs, table, (1 << 256) - 1)
    forms = gates.sums(first, inputs)
    left, right = [forms[v] for v in tower.first], [forms[v] for v in tower.second]
    terms = [(part, gates.gate(a, "&", b)) for part, a, b in zip(tower.product, left, right)]
    terms += [(1 << k, forms[vector]) for k, vector in enumerate(tower.square)]
    norm = gates.transposed(middle, 4, terms)
    inverse = gates.found(inversion(tower, circuits), norm)
    terms = [(v, gates.gate(a, "&", b)) for v, a, b in zip(tower.out, inverse * 2, right + left)]
    outputs = gates.transposed(last, 8, terms)
    for x in range(256):
        value = sum((gates.values[output] >> x & 1) << i for i, output in enumerate(outputs))
        assert value == (INVERSE[GATHER[x]] if is_inverse else spread(INVERSE[x])), f"{name} of {x}"
    print(f"{name}: {len(gates.lines)} gates", file=sys.stderr)
    loads = ", ".join(f"x{i} = x[{i}]" for i in range(8))
    stores = "\n".join(f"    x[{i}] = {output};" for i, output in enumerate(outputs))
    return f"""
/* {what}: {len(gates.lines)} gates. */
INLINE void {name}(uint32_t x[8])
{{
    const uint32_t {loads};
{gates.text()}
{stores}
}}
"""


def aes(circuits: str, runs: int):
    text = """/*
 * AES's S-box and its inverse as circuits, without the constant 0x63, which belongs into the round keys: bit i of 32
 * bytes is word i. Found and written by scripts/circuits.py, which says how; do not edit.
 */
#ifndef SELVEDGE_AES_CIRCUIT_H
#define SELVEDGE_AES_CIRCUIT_H

#include "../estimate.h"
"""
    text += aes_function("aes_substitute", "S(x) ^ 0x63", False, circuits, runs)
    text += aes_function("aes_unsubstitute", "The inverse of S(x) ^ 0x63", True, circuits, runs)
    (BLOCK / "aes_circuit.h").write_text(text + "\n#endif\n")


# DES's circuits.


def des_tables() -> list[list[int]]:
    """FIPS 46-3's S-boxes by the index of six bits, as des_sbox.h lists them by row and column."""
    rows = re.findall(r"f\((\d), (\d), ([\d, ]+)\)", (BLOCK / "des_sbox.h").read_text())
    boxes = [[], [], [], [], [], [], [], []]
    for number, _, cells in rows:
        boxes[int(number) - 1] += map(int, cells.split(","))
    assert all(len(box) == 64 for box in boxes), "des_sbox.h has not eight S-boxes of four rows of sixteen"
    return [[box[(x >> 5 << 1 | x & 1) * 16 + (x >> 1 & 15)] for x in range(64)] for box in boxes]


def des_function(number: int, table: list[int], text: str) -> str:
    inputs = [f"x{i}" for i in range(6)]
    values = [sum(1 << x for x in range(64) if x >> i & 1) for i in range(6)]
    gates = Gates(inputs, values, (1 << 64) - 1)
    outputs = gates.found(last_found(text), inputs)
    for x in range(64):
        assert sum((gates.values[output] >> x & 1) << i for i, output in enumerate(outputs)) == table[x], number
    print(f"S{number}: {len(gates.lines)} gates", file=sys.stderr)
    stores = "\n".join(f"    *y{i} ^= {output};" for i, output in enumerate(outputs))
    parameters = ", ".join(f"uint32_t {name}" for name in inputs)
    return f"""
/* S{number}: {len(gates.lines)} gates. */
INLINE void des_substitute_{number}({parameters},
                             uint32_t *y0, uint32_t *y1, uint32_t *y2, uint32_t *y3)
{{
{gates.text()}
{stores}
}}
"""


def des(paths: list[str]):
    text = """/*
 * DES's S-boxes as circuits: bits of 32 blocks are words, lowest bit first, and the result is added to what is there.
 * Found by scripts/circuits.c and written by scripts/circuits.py; do not edit.
 */
#ifndef SELVEDGE_DES_CIRCUITS_H
#define SELVEDGE_DES_CIRCUITS_H

#include "../estimate.h"
"""
    for index, (path, table) in enumerate(zip(paths, des_tables(), strict=True)):
        text += des_function(index + 1, table, pathlib.Path(path).read_text())
    (BLOCK / "des_circuits.h").write_text(text + "\n#endif\n")


def main():
    match sys.argv[1:]:
        case ["aes", circuits]:
            aes(circuits, 100)
        case ["aes", circuits, runs]:
            aes(circuits, int(runs))
        case ["des", *paths] if len(paths) == 8:
            des(paths)
        case _:
            sys.exit(__doc__)


main()
