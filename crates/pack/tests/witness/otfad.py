#!/usr/bin/env python3
"""Seals bytes as NXP's spsdk does for OTFAD: for each line `LAYOUT KEY START ADDRESS PLAIN`, all but the layout in hex,
what they become."""

import sys

from spsdk.image.otfad.otfad import KeyBlob

for line in sys.stdin:
    layout, *fields = line.split()
    key, start, address, plain = (bytes.fromhex(field) for field in fields)
    first = int.from_bytes(address, "big")
    # A key blob's counter goes on from its first address, so it begins where the image does.
    blob = KeyBlob(first, first + 0x3FF, key=key, counter_iv=start[:8])
    print(blob.encrypt_image(first, plain, byte_swap=layout == "otfad-swapped").hex())
