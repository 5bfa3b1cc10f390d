# RUN: pack run ../../../../corpus/sparc/search.elf --file pack/words.txt --file pack/words.patterns -- pack/words.patterns pack/words.txt
# RUN[json]: pack run ../../../../corpus/sparc/search.elf --file p=pack/words.patterns --file t=pack/words.txt --json -- p t
# RUN[board]: pack run ../../../../corpus/sparc/search.elf --board --file p=pack/words.patterns --file t=pack/words.txt -- p t
# RUN[slow]: pack run ../../../../corpus/sparc/search.elf --cache 512x2x32 --replacement lrr --memory 30+2 --timing leon3 --data-cache 256 --file p=pack/words.patterns --file t=pack/words.txt -- p t
# FAIL[status]: pack run ../../../../corpus/sparc/search.elf -- nowhere
# FAIL[status_json]: pack run ../../../../corpus/sparc/search.elf --json -- nowhere
# FAIL[limit]: pack run ../../../../corpus/sparc/search.elf --limit 1000 -- p t
# FAIL[cache](2): pack run ../../../../corpus/sparc/search.elf --cache 1000
# FAIL[line](2): pack run ../../../../corpus/sparc/search.elf --cache 1024x1x8
# FAIL[shape](2): pack run ../../../../corpus/sparc/search.elf --cache 1024x1x16x2
# FAIL[file](3): pack run ../../../../corpus/sparc/search.elf --file pack/nowhere
