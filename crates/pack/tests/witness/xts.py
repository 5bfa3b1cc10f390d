#!/usr/bin/env python3
"""Seals lines as Python's cryptography does with XTS, a line a data unit: for each line
`LAYOUT KEY START ADDRESS PLAIN`, all but the layout in hex, what they become."""

import sys

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

for line in sys.stdin:
    _, *fields = line.split()
    key, _, address, plain = (bytes.fromhex(field) for field in fields)
    sealed = bytes()
    for at in range(0, len(plain), 16):
        unit = (int.from_bytes(address, "big") + at) // 16
        sealing = Cipher(algorithms.AES(key), modes.XTS(unit.to_bytes(16, "little"))).encryptor()
        sealed += sealing.update(plain[at : at + 16]) + sealing.finalize()
    print(sealed.hex())
