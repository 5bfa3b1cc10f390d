#!/usr/bin/env python3
"""Counts the instructions that a program takes under qemu's user emulation, and prints the number.

qemu says of each block of instructions what is in it when it translates it, and its address whenever it runs it; their
product is the count. What the program prints is dropped.

Usage: scripts/instructions.py QEMU PROGRAM ARGUMENT...
"""

import os
import re
import subprocess
import sys
import tempfile


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        os.mkfifo(log)
        qemu = [sys.argv[1], "-d", "in_asm,exec,nochain", "-D", log, *sys.argv[2:]]
        process = subprocess.Popen(qemu, stdout=subprocess.DEVNULL)
        lengths, runs, translated = {}, {}, 0
        with open(log, errors="replace") as lines:
            for line in lines:
                if line.startswith("0x"):
                    translated += 1
                elif line.startswith("Trace"):
                    block = line.split(" ", 3)[2]
                    if translated:
                        lengths[block], translated = translated, 0
                    runs[block] = runs.get(block, 0) + 1
        if process.wait() != 0:
            sys.exit(f"error: {sys.argv[2]} ended with {process.returncode}")
    print(sum(lengths[block] * count for block, count in runs.items()))


if __name__ == "__main__":
    main()
