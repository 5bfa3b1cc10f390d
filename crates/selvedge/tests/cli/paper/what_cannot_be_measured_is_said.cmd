# FAIL(3): paper sti
# FAIL[json](3): paper sti --json
# FAIL[divider](2): paper sti --divider 3 --root ../../../..
# FAIL[cipher](2): paper sti --cipher des
# FAIL[nothing](2): paper
# FAIL[paper](2): paper thrint
# FAIL[none](2): paper sti --table modern --divider 2 --root ../../../..
