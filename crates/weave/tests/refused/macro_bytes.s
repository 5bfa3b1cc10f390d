; Refused: macro bytes.
.macro more a:vararg
 more \a, \a
.endm
f: more r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2r2
 ret
