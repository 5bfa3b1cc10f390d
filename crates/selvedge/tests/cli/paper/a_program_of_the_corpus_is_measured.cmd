# FAIL(3): paper bus
# FAIL[program](2): paper bus --program susen
# FAIL[instructions](2): paper bus --instructions arm
# FAIL[seeds](2): paper bus --seeds 0
