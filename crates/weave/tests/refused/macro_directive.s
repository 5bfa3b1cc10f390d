; Refused: macro directive.
.macro send when
 out 0x18, r24 ;@weave event tx at=\when
.endm
f: send 0
 send soon
 ret
