# FAIL(2): pack build ../../../../corpus/sparc/search.elf -o %tmp/x.spk --device-key pack/words.txt --seal rot13
# FAIL[layout](2): pack build ../../../../corpus/sparc/search.elf -o %tmp/x.spk --device-key pack/words.txt --seal ctr
# FAIL[legacy](2): pack build ../../../../corpus/sparc/search.elf -o %tmp/x.spk --device-key pack/words.txt --seal ecb
# FAIL[tags](2): pack build ../../../../corpus/sparc/search.elf -o %tmp/x.spk --device-key pack/words.txt --integrity 3
# FAIL[id](2): pack build ../../../../corpus/sparc/search.elf -o %tmp/x.spk --device-key pack/words.txt --id too_long_for_it
# FAIL[tables](2): pack build ../../../../corpus/sparc/search.elf -o %tmp/x.spk --device-key pack/words.txt --tables 0xg
# FAIL[itself](2): pack build ../../../../corpus/sparc/search.elf -o ../../../../corpus/sparc/search.elf --device-key pack/words.txt
# FAIL[key](2): pack build ../../../../corpus/sparc/search.elf -o %tmp/x.spk
# FAIL[container]: pack verify pack/words.txt --device-key pack/words.txt
