#!/usr/bin/env python3
"""Seals lines as Python's cryptography does with XTS, a line a data unit: `xts.py LAYOUT KEY START ADDRESS PLAIN`, all
but the address in hex; layout and start are empty."""

import sys

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

_, key, _, address, plain = sys.argv[1:]
key, plain = bytes.fromhex(key), bytes.fromhex(plain)
for at in range(0, len(plain), 16):
    tweak = ((int(address) + at) // 16).to_bytes(16, "little")
    sealing = Cipher(algorithms.AES(key), modes.XTS(tweak)).encryptor()
    print((sealing.update(plain[at : at + 16]) + sealing.finalize()).hex(), end="")
print()
