#!/usr/bin/env python3
"""Seals bytes as Infineon's edgeprotecttools do for their SMIF: for each line `LAYOUT KEY START ADDRESS PLAIN`, all but
the layout in hex, what they become."""

import importlib.util
import pathlib
import sys

# That one file of the package, which needs cryptography alone: the whole of it wants drivers of probes as well.
package = pathlib.Path(importlib.util.find_spec("edgeprotecttools").submodule_search_locations[0])
spec = importlib.util.spec_from_file_location("encryptor_aes", package / "execute/encryption/encryptor_aes.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

for line in sys.stdin:
    _, *fields = line.split()
    key, nonce, address, plain = (bytes.fromhex(field) for field in fields)
    print(module.EncryptorAES.encrypt_ecb(plain, key, int.from_bytes(address, "big"), nonce).hex())
