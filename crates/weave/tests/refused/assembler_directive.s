; Refused: assembler directive.
f: nop
 .frobnicate 3
 ret
