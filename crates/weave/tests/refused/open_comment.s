; Refused: open comment.
f: ret
/* never
ends
