; Refused: unexpanded include.
f: nop
 .include "x.inc"
 ret
