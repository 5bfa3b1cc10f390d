# What needs an ELF file that is wrong is in tests/pack.rs.
# FAIL: pack analyze %
# FAIL[json]: pack analyze % --json
# FAIL[run]: pack run %
# FAIL[scheme]: pack analyze pack/search.profile
# FAIL[file](3): pack analyze pack/nowhere.elf
# FAIL[function](2): pack analyze ../../../../corpus/sparc/search.elf --exclude no_such_function
# FAIL[profile](2): pack analyze ../../../../corpus/sparc/search.elf --dictionary dynamic
# FAIL[order](2): pack analyze ../../../../corpus/sparc/search.elf --order hot
# FAIL[entries](2): pack analyze ../../../../corpus/sparc/search.elf --entries 257
# FAIL[share](2): pack analyze ../../../../corpus/sparc/search.elf --profile pack/search.profile --dictionary blend=101
# FAIL[choice](2): pack analyze ../../../../corpus/sparc/search.elf --dictionary best
# FAIL[line]: pack analyze ../../../../corpus/sparc/search.elf --profile pack/words.txt
# FAIL[overwrites](2): pack analyze ../../../../corpus/sparc/search.elf --html ../../../../corpus/sparc/search.elf
# FAIL[other_program]: pack analyze ../../../../corpus/sparc/search.elf --profile pack/other.profile
# FAIL[block](2): pack build ../../../../corpus/sparc/search.elf -o %tmp/x.spk --device-key pack/words.txt --scheme fields --block 48
# FAIL[no_blocks](2): pack build ../../../../corpus/sparc/search.elf -o %tmp/x.spk --device-key pack/words.txt --scheme none --block 32
# FAIL[flags](2): pack build ../../../../corpus/sparc/search.elf -o %tmp/x.spk --device-key pack/words.txt --scheme huffman --order hot
