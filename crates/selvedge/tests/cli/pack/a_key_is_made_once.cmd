# What opens what with a key is in tests/pack.rs: no key is believed that others can read, as files of tests can be.
# RUN: pack key -o %tmp/device.key
# RUN[json]: pack key -o %tmp/device.key --bits 128 --json
# FAIL[exists]: pack key -o pack/words.txt
# FAIL[folder](3): pack key -o %tmp/nowhere/device.key
# FAIL[bits](2): pack key -o %tmp/device.key --bits 192
