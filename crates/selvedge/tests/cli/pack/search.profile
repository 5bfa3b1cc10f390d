# A few instructions of corpus/sparc/search.elf, as if they had been executed so often.
0x40001000 1
0x400033ec 700
0x400033f0 700
0x40004ae4 90
0x40004ae8 90
