; Refused: open string.
f: ret
.string "never
