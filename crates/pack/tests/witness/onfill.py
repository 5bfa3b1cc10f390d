#!/usr/bin/env python3
"""Decodes blocks of compressed code, from what the formats say and nothing else: for each line `TARGET STEP MODEL
BLOCKS`, the two sections in hex, the plain code of the blocks 0, STEP, 2 STEP and so on, in hex."""

import sys


class Bits:
    def __init__(self, data):
        self.text = "".join(f"{byte:08b}" for byte in data)
        self.at = 0

    def take(self, count):
        part = self.text[self.at : self.at + count]
        assert len(part) == count, "bits end early"
        self.at += count
        return int(part, 2) if count else 0


def codes_of(lengths):
    """Strings of canonical codes, to the symbols that they stand for."""
    used = sorted((length, symbol) for symbol, length in lengths.items() if length)
    if len(used) == 1:
        return {"": used[0][1]}
    codes, code, before = {}, 0, 0
    for length, symbol in used:
        code <<= length - before
        codes[f"{code:0{length}b}"] = symbol
        code, before = code + 1, length
    return codes


class Model:
    """kind is `choice`, `number` or `plain`; size is how many there are of a choice, and else the width."""

    def __init__(self, bits, kind, size):
        self.kind, self.size = kind, size
        self.fixed = {"choice": size, "number": 2 * size, "plain": 1}[kind]
        lengths = {}
        for symbol in range(bits.take(self.fixed.bit_length())):
            if bits.take(1):
                lengths[symbol] = bits.take(4)
        self.listed = []
        if kind != "choice":
            length = 1
            for place in range(bits.take(13)):
                while bits.take(1):
                    length += 1
                self.listed.append(bits.take(size))
                lengths[self.fixed + place] = length
        self.codes = codes_of(lengths)

    def take(self, bits):
        code = ""
        while code not in self.codes:
            code += str(bits.take(1))
            assert len(code) <= 15, "no such code"
        symbol = self.codes[code]
        if symbol >= self.fixed:
            return self.listed[symbol - self.fixed]
        if self.kind == "choice":
            return symbol
        if self.kind == "plain":
            return bits.take(self.size)
        negative, count = divmod(symbol, self.size)
        value = int("1" + "".join(str(bits.take(1)) for _ in range(count - 1)), 2) if count else 0
        return value ^ ((1 << self.size) - 1) if negative else value


class Codepack:
    UPPER = {"00": 3, "01": 5, "100": 6, "101": 7, "110": 8}
    LOWER = {"00": 0, "01": 4, "100": 5, "101": 7, "110": 8}

    def __init__(self, bits, _target):
        self.halves = []
        for classes in (self.UPPER, self.LOWER):
            table = [bits.take(16) for _ in range(bits.take(9))]
            first, starts = 0, {}
            for prefix, width in classes.items():
                starts[prefix] = (first, width)
                first += 1 << width
            self.halves.append((starts, table))

    def half(self, bits, starts, table):
        prefix = ""
        while prefix not in starts:
            if prefix == "111":
                return bits.take(16)
            prefix += str(bits.take(1))
        first, width = starts[prefix]
        return table[first + bits.take(width)]

    def words(self, bits, count, _at):
        for _ in range(count):
            upper = self.half(bits, *self.halves[0])
            yield upper << 16 | self.half(bits, *self.halves[1])


class Bitmask:
    def __init__(self, bits, _target):
        self.entries = [bits.take(32) for _ in range(bits.take(12))]
        self.width = max(len(self.entries) - 1, 0).bit_length()

    def words(self, bits, count, _at):
        for _ in range(count):
            masks = 0
            while masks < 3 and bits.take(1):
                masks += 1
            if masks == 3:
                yield bits.take(32)
                continue
            added = 0
            for _ in range(masks):
                group = bits.take(3)
                added ^= bits.take(4) << 4 * group
            yield self.entries[bits.take(self.width)] ^ added


class Huffman:
    def __init__(self, bits, _target):
        self.upper, self.lower = Model(bits, "plain", 16), Model(bits, "plain", 16)

    def words(self, bits, count, _at):
        for _ in range(count):
            upper = self.upper.take(bits)
            yield upper << 16 | self.lower.take(bits)


# For each form its fields in their order: the stream, how a register is told from another, and where the bits are, the
# highest of the number first, each piece its highest bit and its lowest.
SPARC = {
    "streams": [("choice", 33)] * 3 + [("number", 13), ("number", 22), ("number", 22), ("number", 30)],
    "destination": 25,
    "units": 1,
    "forms": [
        [(6, "target", [(29, 0)])],
        [(4, "number", [(21, 0)])],
        [(1, "destination", [(29, 25)]), (5, "number", [(21, 0)])],
        [(0, "destination", [(18, 14)]), (1, "first", [(29, 25)]), (3, "number", [(12, 0)])],
        [(0, "destination", [(18, 14)]), (1, "first", [(29, 25)]), (2, "destination", [(4, 0)])],
        [],
    ],
}
RS1, RD, RS2 = (0, "destination", [(19, 15)]), (1, "first", [(11, 7)]), (2, "destination", [(24, 20)])
RV32 = {
    "streams": [("choice", 33)] * 3 + [("number", 12), ("number", 12), ("number", 20), ("number", 20)],
    "destination": 7,
    "units": 2,
    "forms": [
        [(1, "destination", [(11, 7)]), (5, "number", [(31, 12)])],
        [(1, "destination", [(11, 7)]), (6, "target", [(31, 31), (19, 12), (20, 20), (30, 21)])],
        [RS1, RS2, (4, "number", [(31, 31), (7, 7), (30, 25), (11, 8)])],
        [RS1, RD, (3, "number", [(31, 20)])],
        [RS1, RD, (3, "number", [(31, 20)])],
        [RS1, RD, (3, "number", [(31, 20)])],
        [RS1, RS2, (3, "number", [(31, 25), (11, 7)])],
        [RS1, RD, RS2],
        [],
    ],
}


def places(pieces):
    return [place for high, low in pieces for place in range(high, low - 1, -1)]


class Fields:
    def __init__(self, bits, target):
        self.target = SPARC if target == "sparc" else RV32
        forms = self.target["forms"]
        count = bits.take(12)
        self.heads = []
        for _ in range(count):
            form = forms[bits.take(3 if target == "sparc" else 4)]
            taken = {place for field in form for place in places(field[2])}
            head = 0
            for place in range(31, -1, -1):
                if place not in taken:
                    head |= bits.take(1) << place
            self.heads.append((head, form))
        self.next = Model(bits, "choice", count + 1)
        self.own_next = [Model(bits, "choice", count + 1) if bits.take(1) else None for _ in self.heads]
        self.streams = [Model(bits, *stream) for stream in self.target["streams"]]
        self.own = [
            [Model(bits, *self.target["streams"][field[0]]) if bits.take(1) else None for field in form]
            for _, form in self.heads
        ]

    def words(self, bits, count, at):
        before, head_before = 0, None
        for number in range(count):
            choice = 0
            if head_before is not None and self.own_next[head_before]:
                choice = self.own_next[head_before].take(bits)
            if choice == 0:
                choice = self.next.take(bits)
            if choice == 0:
                word, head_before = bits.take(32), None
            else:
                head_before = choice - 1
                word = self.word(bits, head_before, before, (at + number) * self.target["units"])
            yield word
            before = word

    def word(self, bits, place, before, at):
        word, form = self.heads[place]
        first = None
        for field, own in zip(form, self.own[place]):
            stream, meaning, pieces = field
            number = (own or self.streams[stream]).take(bits)
            into = places(pieces)
            if meaning in ("destination", "first"):
                same = before >> self.target["destination"] & 31 if meaning == "destination" else first
                number = number - 1 if number else same
            elif meaning == "target":
                number = (number - at) % (1 << len(into))
            if first is None:
                first = number
            for place_in_number, place_in_word in enumerate(reversed(into)):
                word |= (number >> place_in_number & 1) << place_in_word
        return word


def blocks(target, step, model, stored):
    bits = Bits(model)
    first, length, number, logarithm, zero = (bits.take(count) for count in (32, 32, 8, 8, 16))
    assert zero == 0
    coder = {1: Codepack, 2: Bitmask, 3: Huffman, 4: Fields}[number](bits, target)
    size = 1 << logarithm
    starts = range(first // size * size, first + length, size)
    behind_table = (len(starts) + 15) // 16 * 16
    for block in range(0, len(starts), step):
        record = Bits(stored[block // 16 * 16 :][:16])
        place = behind_table + record.take(32)
        for _ in range(block % 16):
            place += record.take(logarithm) + 1
        data = stored[place : place + record.take(logarithm) + 1]
        begin, end = max(starts[block], first), min(starts[block] + size, first + length)
        if len(data) == end - begin:
            yield data
            continue
        order = "big" if target == "sparc" else "little"
        words = coder.words(Bits(data), (end - begin) // 4, (begin - first) // 4)
        yield b"".join(word.to_bytes(4, order) for word in words)


for line in sys.stdin:
    target, step, model, stored = line.split()
    print(b"".join(blocks(target, int(step), bytes.fromhex(model), bytes.fromhex(stored))).hex())
