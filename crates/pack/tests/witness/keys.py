#!/usr/bin/env python3
"""Keys and tags of a sealed image by Python's cryptography, all in hex: `keys.py unwrap KEY WRAPPED`,
`keys.py tag-key KEY`, `keys.py cmac KEY MESSAGE`."""

import sys

from cryptography.hazmat.primitives import cmac, hashes, keywrap
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

what, key, *rest = sys.argv[1:]
key = bytes.fromhex(key)
if what == "unwrap":
    try:
        print(keywrap.aes_key_unwrap(key, bytes.fromhex(rest[0])).hex())
    except keywrap.InvalidUnwrap:
        print("refused")
elif what == "tag-key":
    print(HKDF(algorithm=hashes.SHA256(), length=16, salt=None, info=b"selvedge image tags v1").derive(key).hex())
else:
    mac = cmac.CMAC(AES(key))
    mac.update(bytes.fromhex(rest[0]))
    print(mac.finalize().hex())
