#!/usr/bin/env python3
"""Checks the node's image against its budgets, from the linked ELF's sections and disassembly alone.

    budget.py NODE.elf        prints every figure beside its limit; exit status 1 when one is over

Figures: flash, static RAM, the deepest stack of each task (its own, the sampler's handler, another one), the kernel's,
and whether a byte of the bus can be lost, that is whether everything that may stand before the SPI interrupt fits into
the time of one byte. Cycles are the AVRe+ column of the instruction set manual, longest path, 2-byte program counter. A
loop on such a path, an indirect call or an instruction that is not in the table is an error and never a guess.

The kernel is not looked into: what a handler takes that wakes a task is in ../kernel/budget.toml, which a test of its own
holds, and what a task keeps for it is MINCONTEXT. While a byte may come in it is not called (link.h).
"""
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

ONE = """add adc sub subi sbc sbci and andi or ori eor com neg inc dec tst clr ser mov movw ldi cp cpc cpi lsl lsr rol ror
asr swap bset bclr bst bld sec clc sen cln sez clz sei cli ses cls sev clv set clt seh clh nop sleep wdr in out""".split()
TWO = "adiw sbiw mul muls mulsu fmul fmuls fmulsu push pop ld ldd st std lds sts rjmp ijmp sbi cbi".split()
CYCLES = {**dict.fromkeys(ONE, 1), **dict.fromkeys(TWO, 2), "jmp": 3, "lpm": 3, "elpm": 3, "call": 4, "rcall": 3,
          "icall": 3, "ret": 4, "reti": 4}
SKIPS = "sbrs sbrc sbis sbic cpse".split()
CALLS = ("call", "rcall")
# Their interrupts stay off for ever.
ENDS = ("power_silence", "_exit")
# Who calls through a pointer, and whom, as far as the image has them: the controller's filters.
INDIRECT = {"controller": ("transmit", "receive", "handler_seal_transmit", "handler_open_transmit", "handler_seal_receive",
                           "handler_open_receive"),
            "security": ("seal", "open"), "receive_beside": ("seal", "open", "receive"),
            "handler_seal_transmit": ("seal",), "handler_open_transmit": ("open",)}
# Their stretches with interrupts off have calls of the kernel in them, or are longer than a byte: none of them while the
# link is open.
CLOSED = ("controller", "controller_empty", "accept", "sampler_settle", "program_end_line")
# Its cycles are measured in one, from a handler's first one to the woken task's.
KERNEL = "AvrX"
ENTRY = 4 + 3  # the interrupt's entry and the vector's JMP
# After RETI one instruction of the interrupted program runs; the longest is a CALL.
BETWEEN = 4
SREG = "0x3f"


class Image:
    def __init__(self, elf):
        self.functions, self.code = {}, {}
        function = None
        for line in run("avr-objdump", "-d", elf).splitlines():
            if head := re.match(r"^([0-9a-f]{8}) <(.+)>:$", line):
                function = head[2]
                self.functions.setdefault(function, int(head[1], 16))
            elif row := re.match(r"^ +([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t(\S+)(?:\t([^;]*))?", line):
                at, size = int(row[1], 16), len(row[2].split())
                self.code[at] = (row[3], (row[4] or "").strip(), size, function, line)
        # One section, from its first service to its last instruction.
        starts = [at for name, at in self.functions.items() if name.startswith(KERNEL)]
        behind = [at for at in self.functions.values() if at > max(starts)]
        self.kernel = min(starts), min(behind)

    def target(self, at):
        """Where a branch, jump or call goes."""
        operation, operands, size, _, line = self.code[at]
        last = operands.split(",")[-1].strip()
        if relative := re.match(r"^\.([+-]\d+)$", last):
            return at + 2 + int(relative[1])
        return int(re.search(r"0x[0-9a-f]+", line.split("\t", 3)[-1])[0], 16)

    def is_kernel(self, at):
        return at >= self.kernel[0] and at < self.kernel[1]

    def next(self, at):
        return at + self.code[at][2]

    def steps(self, at):
        """Successors of an instruction within its function, as (address, cycles); a call's body is not counted."""
        operation = self.code[at][0]
        after = self.next(at)
        if operation in SKIPS:
            skipped = self.code[after][2] // 2
            return [(after, 1), (after + self.code[after][2], 1 + skipped)]
        if operation.startswith("br") and operation != "break":
            return [(after, 1), (self.target(at), 2)]
        if operation in ("rjmp", "jmp"):
            return [(self.target(at), CYCLES[operation])]
        if operation in ("ret", "reti"):
            return []
        if operation not in CYCLES or operation in ("ijmp", "icall"):
            sys.exit(f"budget.py: no bound for `{self.code[at][4].strip()}`")
        return [(after, CYCLES[operation])]

    def longest(self, start, ends=lambda image, at: False):
        """Cycles of the longest path from `start` to where `ends` first holds, that instruction included, or, when it
        holds nowhere on a path, to the return that leaves the function of `start`."""
        return max(cycles for cycles in self.paths(start, ends) if cycles is not None)

    def paths(self, start, ends):
        """Cycles of the longest path that ends where `ends` holds, and of the longest that returns; None: there is none."""
        known, open_path = {}, set()

        def visit(at):
            if at in known:
                return known[at]
            if at in open_path:
                sys.exit(f"budget.py: a loop at {at:x} in {self.code[at][3]}: no bound")
            operation = self.code[at][0]
            open_path.add(at)
            if ends(self, at):
                best = (CYCLES[operation], None)
            elif operation in ("ret", "reti"):
                best = (None, CYCLES[operation])
            else:
                inside = operation in CALLS and not self.is_kernel(self.target(at))
                body_end, body_return = self.paths(self.target(at), ends) if inside else (None, 0)
                found = [(body_end + CYCLES[operation], None)] if body_end is not None else []
                if body_return is not None:
                    for to, cycles in self.steps(at):
                        found.append(tuple(c and c + cycles + body_return for c in visit(to)))
                best = tuple(max((f[i] for f in found if f[i] is not None), default=None) for i in (0, 1))
            open_path.remove(at)
            known[at] = best
            return best

        return visit(start)

    @lru_cache(maxsize=None)
    def stack(self, start):
        """(bytes, names) of the deepest stack below a function, its return address included."""
        own, pushed, deepest, seen, todo = 0, 0, (0, ()), set(), [start]
        name = self.code[start][3]
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            operation, operands, size, function, line = self.code[at]
            if operation == "push":
                pushed += 1
            elif operation == "rcall" and operands == ".+0":
                pushed += 2  # gcc's way to reserve two bytes
                todo.append(self.next(at))
                continue
            elif operation == "in" and operands.replace(" ", "").startswith("r28,0x3d"):
                own = max(own, self.frame(at))
            leaves = operation in CALLS or (operation in ("jmp", "rjmp") and self.code[self.target(at)][3] != name)
            if leaves and not self.is_kernel(self.target(at)):
                below, names = self.stack(self.target(at))
                deepest = max(deepest, (below - (0 if operation in CALLS else 2), names))
            if operation in ("icall", "ijmp"):
                for callee in filter(self.functions.get, INDIRECT[name]):
                    below, names = self.stack(self.functions[callee])
                    deepest = max(deepest, (below, names))
            if operation in CALLS or operation == "icall":
                todo.append(self.next(at))
            elif operation == "ijmp":
                continue
            elif not (operation in ("jmp", "rjmp") and self.code[self.target(at)][3] != name):
                todo.extend(to for to, _ in self.steps(at))
        return 2 + pushed + own + deepest[0], (name,) + deepest[1]

    def frame(self, at):
        """Bytes of the frame that gcc's prologue takes: IN r28, SPL; IN r29, SPH; then SBIW or SUBI and SBCI."""
        at = self.next(self.next(at))
        operation, operands = self.code[at][:2]
        if operation == "sbiw":
            return int(operands.split(",")[1], 16)
        if operation == "subi":
            value = int(operands.split(",")[1], 16)
            high = self.code[self.next(at)]
            if high[0] == "sbc":
                return value  # r1, which is 0
            return int(high[1].split(",")[1], 16) << 8 | value
        return 0  # the frame is what RCALL .+0 and PUSH made


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def interrupts_off(image):
    """The longest stretch with interrupts off, and where it begins."""
    worst = (0, "")

    def ends(image, at):
        operation, operands = image.code[at][0], image.code[at][1]
        return operation == "sei" or (operation == "out" and operands.startswith(SREG))

    for at, (operation, _, _, function, _) in image.code.items():
        if operation == "cli" and function not in ENDS + CLOSED and not image.is_kernel(at):
            # After SEI, and after I is set by OUT, one instruction more runs.
            worst = max(worst, (image.longest(at, ends) + BETWEEN, function))
    return worst


def before_read(image, spi):
    """Cycles of the SPI handler up to the end of its read of SPDR, where it reads: one that sends does not."""
    address = {"in": "0x0f", "lds": "0x002F"}, {"in": "0x2e", "lds": "0x004E"}
    return image.paths(spi, lambda image, at: any(
        image.code[at][1].split(",")[-1].strip() == which.get(image.code[at][0], "-") for which in address))[0]


def main(elf):
    folder = Path(__file__).resolve().parent.parent
    limits = {name: int(value, 0) for name, value in
              re.findall(r"^#define (\w+) (\d\w*?)U?L?$", (folder / "limits.h").read_text(), re.M)}
    image = Image(elf)
    sizes = {row.split()[0]: int(row.split()[1]) for row in run("avr-size", "-A", elf).splitlines()
             if re.match(r"^\.(text|data|bss|noinit)\s", row)}
    vector = {name: image.functions[f"__vector_{number}"] for name, number in VECTORS[chip_of(elf)].items()}
    rows, failed = [], False

    def figure(what, value, limit):
        nonlocal failed
        failed |= value > limit
        rows.append(f"{what:<44}{value:>7} of {limit:>6}{'   OVER' if value > limit else ''}")

    figure("flash, bytes", sizes[".text"] + sizes.get(".data", 0), limits["FLASH_BYTES_MAX"])
    figure("static RAM, bytes", sum(sizes.get(s, 0) for s in (".data", ".bss", ".noinit")),
           limits[f"STATIC_BYTES_MAX_{chip_of(elf).upper()}"])
    adc, _ = image.stack(vector["ADC"])
    # On a task's stack a handler that goes through the kernel keeps its frame and a switch, and others less.
    handler = context = int(re.search(r"^#define MINCONTEXT (\d+)$", (folder / "avrx.h").read_text(), re.M)[1])
    for name, room in tasks(elf).items():
        stack, chain = image.stack(image.functions[name])
        figure(f"stack of {name}, bytes", stack + adc + handler, room)
        rows.append(f"    its own {stack} ({' > '.join(chain)}), adc {adc}, another {handler}")
        context = max(context, max(image.stack(at)[0] for at in vector.values()))
    stack, chain = image.stack(image.functions["main"])
    figure("stack of the kernel, bytes", stack + context, limits["STACK_BYTES_MAX"])
    rows.append(f"    main {stack} ({' > '.join(chain)})")
    off, where = interrupts_off(image)
    compare = ENTRY + image.longest(vector["COMPA"]) + BETWEEN
    overflow = ENTRY + image.longest(vector["OVF"]) + BETWEEN
    read = ENTRY + before_read(image, vector["SPI"])
    figure("a received byte's wait, cycles, at f/16", off + compare + overflow + read, 8 * 16)
    rows.append(f"    interrupts off {off} ({where}), compare A {compare}, overflow {overflow}, to the read {read}")
    # The start of a conversion waits for a capture, whose interrupt goes first, and for what was running already.
    # While the link is open nobody is in the kernel but a handler that ends that, and nothing stands behind it.
    wakes = int(re.search(r'^"an interrupt" = .* switches = (\d+)',
                          (folder / "../kernel/budget.toml").read_text(), re.M)[1]) + ENTRY + BETWEEN
    capture = ENTRY + image.longest(vector["CAPT"]) + BETWEEN
    running = max([off] + [ENTRY + image.longest(vector[name]) + BETWEEN for name in ("COMPB", "OVF", "SPI")])
    figure("a conversion's delay, cycles", max(capture + running, wakes), limits["START_DELAY_CYCLES_MAX"])
    rows.append(f"    capture {capture}, what was running already {running}, or waking a task {wakes}")
    figure("waking a task, cycles", wakes, limits["KERNEL_CYCLES_MAX"])
    for name, at in vector.items():
        if name != "ADC":
            rows.append(f"    handler {name}: at most {ENTRY + image.longest(at)} cycles with its entry")
    print("\n".join(rows))
    sys.exit(1 if failed else 0)


def tasks(elf):
    """The tasks and the bytes of their stacks."""
    rows = (row.split() for row in run("avr-nm", "-S", elf).splitlines())
    return {row[3][:-3]: int(row[1], 16) for row in rows if len(row) == 4 and row[3].endswith("Stk")}


VECTORS = {
    "atmega128": {"CAPT": 11, "COMPA": 12, "COMPB": 13, "OVF": 14, "SPI": 17, "ADC": 21},
    "atmega328p": {"CAPT": 10, "COMPA": 11, "COMPB": 12, "OVF": 13, "SPI": 17, "ADC": 21},
}


def chip_of(elf):
    """The chips are told apart by their number of vectors."""
    text = run("avr-objdump", "-d", elf)
    vectors = len(re.findall(r"^ +[0-9a-f]+:.*\tjmp\t", text.split("<__vectors>:")[1].split("\n\n")[0], re.M))
    return {35: "atmega128", 26: "atmega328p"}[vectors]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
