; Refused: nothing pushed.
 .popsection
f: ret
