#!/usr/bin/env python3
"""Keys and tags of a sealed image by Python's cryptography: for each line `unwrap KEY WRAPPED`, `tag-key KEY` or
`cmac KEY MESSAGE`, all in hex, the answer."""

import sys

from cryptography.hazmat.primitives import cmac, hashes, keywrap
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def unwrap(key, wrapped):
    try:
        return keywrap.aes_key_unwrap(key, wrapped).hex()
    except keywrap.InvalidUnwrap:
        return "refused"


def tag_key(key):
    return HKDF(algorithm=hashes.SHA256(), length=16, salt=None, info=b"selvedge image tags v1").derive(key).hex()


def tag(key, message):
    mac = cmac.CMAC(AES(key))
    mac.update(message)
    return mac.finalize().hex()


for line in sys.stdin:
    what, *fields = line.split()
    answer = {"unwrap": unwrap, "tag-key": tag_key, "cmac": tag}[what]
    print(answer(*(bytes.fromhex(field) for field in fields)))
