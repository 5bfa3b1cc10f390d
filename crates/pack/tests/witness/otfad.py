#!/usr/bin/env python3
"""Seals bytes as NXP's spsdk does for OTFAD: `otfad.py LAYOUT KEY COUNTER ADDRESS PLAIN`, all but the address in
hex."""

import sys

from spsdk.image.otfad.otfad import KeyBlob

layout, key, counter, address, plain = sys.argv[1:]
first, plain = int(address), bytes.fromhex(plain)
# A key blob's counter goes on from its first address, so it begins where the image does.
blob = KeyBlob(first, first + 0x3FF, key=bytes.fromhex(key), counter_iv=bytes.fromhex(counter))
print(blob.encrypt_image(first, plain, byte_swap=layout == "otfad-swapped").hex())
