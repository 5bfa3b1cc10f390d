# As if of a program that lies elsewhere.
0x80001000 7
