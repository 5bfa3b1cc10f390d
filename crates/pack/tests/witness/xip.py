#!/usr/bin/env python3
"""Seals bytes as Infineon's edgeprotecttools do for their SMIF: `xip.py LAYOUT KEY NONCE ADDRESS PLAIN`, all but the
address in hex."""

import importlib.util
import pathlib
import sys

# That one file of the package, which needs cryptography alone: the whole of it wants drivers of probes as well.
package = pathlib.Path(importlib.util.find_spec("edgeprotecttools").submodule_search_locations[0])
spec = importlib.util.spec_from_file_location("encryptor_aes", package / "execute/encryption/encryptor_aes.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

_, key, nonce, address, plain = sys.argv[1:]
plain, key, nonce = (bytes.fromhex(digits) for digits in (plain, key, nonce))
print(module.EncryptorAES.encrypt_ecb(plain, key, int(address), nonce).hex())
