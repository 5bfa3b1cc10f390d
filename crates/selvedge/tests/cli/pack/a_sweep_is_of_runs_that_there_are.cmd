# FAIL(2): pack sweep ../../../../corpus/sparc/search.elf --runs ../../../../data/workload/runs.txt --train nowhere
# FAIL[none](2): pack sweep ../../../../corpus/sparc/search.elf --runs pack/words.txt
# FAIL[file](3): pack sweep ../../../../corpus/sparc/search.elf --runs pack/nowhere.txt
# FAIL[seeds](2): pack sweep ../../../../corpus/sparc/search.elf --runs pack/words.txt --seeds 0
# FAIL[dictionary](2): pack sweep ../../../../corpus/sparc/search.elf --runs ../../../../data/workload/runs.txt --dictionary static,blend=101
# FAIL[choice](2): pack sweep ../../../../corpus/sparc/search.elf --runs ../../../../data/workload/runs.txt --dictionary best
# FAIL[scheme](2): pack sweep ../../../../corpus/sparc/search.elf --runs ../../../../data/workload/runs.txt --scheme compacket
# FAIL[block](2): pack sweep ../../../../corpus/sparc/search.elf --runs ../../../../data/workload/runs.txt --scheme fields --block 64,128
