# FAIL(3): paper sti --root ../../../..
# ENV: PATH=%tmp
