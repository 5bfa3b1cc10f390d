# RUN: pack run ../../../../corpus/rv32/search.elf --file p=pack/words.patterns --file t=pack/words.txt -- p t
# RUN[json]: pack run ../../../../corpus/rv32/search.elf --file p=pack/words.patterns --file t=pack/words.txt --json -- p t
# RUN[ideal]: pack run ../../../../corpus/rv32/search.elf --timing ideal --data-cache none --file p=pack/words.patterns --file t=pack/words.txt -- p t
# RUN[analysis]: pack analyze ../../../../corpus/rv32/search.elf
# FAIL[status]: pack run ../../../../corpus/rv32/search.elf -- nowhere
# FAIL[board](2): pack run ../../../../corpus/rv32/search.elf --board
# FAIL[timing](2): pack run ../../../../corpus/rv32/search.elf --timing leon3
# FAIL[sparc](2): pack run ../../../../corpus/sparc/search.elf --timing ibex
# FAIL[other](2): pack run ../../../../corpus/rv32/search.elf --against ../../../../corpus/sparc/search.elf
