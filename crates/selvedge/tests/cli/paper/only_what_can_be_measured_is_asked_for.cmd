# FAIL[part](2): paper multicore --part table3
# FAIL[class](2): paper multicore --class idle
# FAIL[none](2): paper multicore --part batch --class fifo
