; Refused: macro unclosed.
.macro one
 inc r\(2
.endm
f: one
 ret
