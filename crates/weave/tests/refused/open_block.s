; Refused: open block.
.text
.macro never
 nop
