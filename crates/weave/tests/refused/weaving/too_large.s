; Not woven: in each of many loops stands a round of a guest with 75 events.
        .global f
f:
        ;@weave arguments 2
        movw r30, r24
1:
        ld r24, Z+
        tst r24
        brne 1b
2:
        ld r24, Z+
        tst r24
        brne 2b
3:
        ld r24, Z+
        tst r24
        brne 3b
4:
        ld r24, Z+
        tst r24
        brne 4b
5:
        ld r24, Z+
        tst r24
        brne 5b
6:
        ld r24, Z+
        tst r24
        brne 6b
7:
        ld r24, Z+
        tst r24
        brne 7b
8:
        ld r24, Z+
        tst r24
        brne 8b
9:
        ld r24, Z+
        tst r24
        brne 9b
10:
        ld r24, Z+
        tst r24
        brne 10b
11:
        ld r24, Z+
        tst r24
        brne 11b
12:
        ld r24, Z+
        tst r24
        brne 12b
13:
        ld r24, Z+
        tst r24
        brne 13b
14:
        ld r24, Z+
        tst r24
        brne 14b
15:
        ld r24, Z+
        tst r24
        brne 15b
16:
        ld r24, Z+
        tst r24
        brne 16b
17:
        ld r24, Z+
        tst r24
        brne 17b
18:
        ld r24, Z+
        tst r24
        brne 18b
19:
        ld r24, Z+
        tst r24
        brne 19b
20:
        ld r24, Z+
        tst r24
        brne 20b
21:
        ld r24, Z+
        tst r24
        brne 21b
22:
        ld r24, Z+
        tst r24
        brne 22b
23:
        ld r24, Z+
        tst r24
        brne 23b
24:
        ld r24, Z+
        tst r24
        brne 24b
25:
        ld r24, Z+
        tst r24
        brne 25b
26:
        ld r24, Z+
        tst r24
        brne 26b
27:
        ld r24, Z+
        tst r24
        brne 27b
28:
        ld r24, Z+
        tst r24
        brne 28b
29:
        ld r24, Z+
        tst r24
        brne 29b
30:
        ld r24, Z+
        tst r24
        brne 30b
31:
        ld r24, Z+
        tst r24
        brne 31b
32:
        ld r24, Z+
        tst r24
        brne 32b
33:
        ld r24, Z+
        tst r24
        brne 33b
34:
        ld r24, Z+
        tst r24
        brne 34b
35:
        ld r24, Z+
        tst r24
        brne 35b
36:
        ld r24, Z+
        tst r24
        brne 36b
37:
        ld r24, Z+
        tst r24
        brne 37b
38:
        ld r24, Z+
        tst r24
        brne 38b
39:
        ld r24, Z+
        tst r24
        brne 39b
40:
        ld r24, Z+
        tst r24
        brne 40b
41:
        ld r24, Z+
        tst r24
        brne 41b
42:
        ld r24, Z+
        tst r24
        brne 42b
43:
        ld r24, Z+
        tst r24
        brne 43b
44:
        ld r24, Z+
        tst r24
        brne 44b
45:
        ld r24, Z+
        tst r24
        brne 45b
46:
        ld r24, Z+
        tst r24
        brne 46b
47:
        ld r24, Z+
        tst r24
        brne 47b
48:
        ld r24, Z+
        tst r24
        brne 48b
49:
        ld r24, Z+
        tst r24
        brne 49b
50:
        ld r24, Z+
        tst r24
        brne 50b
51:
        ld r24, Z+
        tst r24
        brne 51b
52:
        ld r24, Z+
        tst r24
        brne 52b
53:
        ld r24, Z+
        tst r24
        brne 53b
54:
        ld r24, Z+
        tst r24
        brne 54b
55:
        ld r24, Z+
        tst r24
        brne 55b
56:
        ld r24, Z+
        tst r24
        brne 56b
57:
        ld r24, Z+
        tst r24
        brne 57b
58:
        ld r24, Z+
        tst r24
        brne 58b
59:
        ld r24, Z+
        tst r24
        brne 59b
60:
        ld r24, Z+
        tst r24
        brne 60b
        ret
        .size f, .-f

        .global g
g:
        ;@weave clock beat period=640
        ;@weave arguments 1
1:
        ;@weave event beat at=0
        sbi 0x18, 0
        ;@weave event beat at=8
        cbi 0x18, 0
        ;@weave event beat at=16
        sbi 0x18, 1
        ;@weave event beat at=24
        cbi 0x18, 1
        ;@weave event beat at=32
        sbi 0x18, 2
        ;@weave event beat at=40
        cbi 0x18, 2
        ;@weave event beat at=48
        sbi 0x18, 3
        ;@weave event beat at=56
        cbi 0x18, 3
        ;@weave event beat at=64
        sbi 0x18, 4
        ;@weave event beat at=72
        cbi 0x18, 4
        ;@weave event beat at=80
        sbi 0x18, 5
        ;@weave event beat at=88
        cbi 0x18, 5
        ;@weave event beat at=96
        sbi 0x18, 6
        ;@weave event beat at=104
        cbi 0x18, 6
        ;@weave event beat at=112
        sbi 0x18, 7
        ;@weave event beat at=120
        cbi 0x18, 7
        ;@weave event beat at=128
        sbi 0x18, 0
        ;@weave event beat at=136
        cbi 0x18, 0
        ;@weave event beat at=144
        sbi 0x18, 1
        ;@weave event beat at=152
        cbi 0x18, 1
        ;@weave event beat at=160
        sbi 0x18, 2
        ;@weave event beat at=168
        cbi 0x18, 2
        ;@weave event beat at=176
        sbi 0x18, 3
        ;@weave event beat at=184
        cbi 0x18, 3
        ;@weave event beat at=192
        sbi 0x18, 4
        ;@weave event beat at=200
        cbi 0x18, 4
        ;@weave event beat at=208
        sbi 0x18, 5
        ;@weave event beat at=216
        cbi 0x18, 5
        ;@weave event beat at=224
        sbi 0x18, 6
        ;@weave event beat at=232
        cbi 0x18, 6
        ;@weave event beat at=240
        sbi 0x18, 7
        ;@weave event beat at=248
        cbi 0x18, 7
        ;@weave event beat at=256
        sbi 0x18, 0
        ;@weave event beat at=264
        cbi 0x18, 0
        ;@weave event beat at=272
        sbi 0x18, 1
        ;@weave event beat at=280
        cbi 0x18, 1
        ;@weave event beat at=288
        sbi 0x18, 2
        ;@weave event beat at=296
        cbi 0x18, 2
        ;@weave event beat at=304
        sbi 0x18, 3
        ;@weave event beat at=312
        cbi 0x18, 3
        ;@weave event beat at=320
        sbi 0x18, 4
        ;@weave event beat at=328
        cbi 0x18, 4
        ;@weave event beat at=336
        sbi 0x18, 5
        ;@weave event beat at=344
        cbi 0x18, 5
        ;@weave event beat at=352
        sbi 0x18, 6
        ;@weave event beat at=360
        cbi 0x18, 6
        ;@weave event beat at=368
        sbi 0x18, 7
        ;@weave event beat at=376
        cbi 0x18, 7
        ;@weave event beat at=384
        sbi 0x18, 0
        ;@weave event beat at=392
        cbi 0x18, 0
        ;@weave event beat at=400
        sbi 0x18, 1
        ;@weave event beat at=408
        cbi 0x18, 1
        ;@weave event beat at=416
        sbi 0x18, 2
        ;@weave event beat at=424
        cbi 0x18, 2
        ;@weave event beat at=432
        sbi 0x18, 3
        ;@weave event beat at=440
        cbi 0x18, 3
        ;@weave event beat at=448
        sbi 0x18, 4
        ;@weave event beat at=456
        cbi 0x18, 4
        ;@weave event beat at=464
        sbi 0x18, 5
        ;@weave event beat at=472
        cbi 0x18, 5
        ;@weave event beat at=480
        sbi 0x18, 6
        ;@weave event beat at=488
        cbi 0x18, 6
        ;@weave event beat at=496
        sbi 0x18, 7
        ;@weave event beat at=504
        cbi 0x18, 7
        ;@weave event beat at=512
        sbi 0x18, 0
        ;@weave event beat at=520
        cbi 0x18, 0
        ;@weave event beat at=528
        sbi 0x18, 1
        ;@weave event beat at=536
        cbi 0x18, 1
        ;@weave event beat at=544
        sbi 0x18, 2
        ;@weave event beat at=552
        cbi 0x18, 2
        ;@weave event beat at=560
        sbi 0x18, 3
        ;@weave event beat at=568
        cbi 0x18, 3
        ;@weave event beat at=576
        sbi 0x18, 4
        ;@weave event beat at=584
        cbi 0x18, 4
        ;@weave event beat at=592
        sbi 0x18, 5
        dec r24
        breq 2f
        rjmp 1b
2:
        ;@weave over beat
        ret
        .size g, .-g
