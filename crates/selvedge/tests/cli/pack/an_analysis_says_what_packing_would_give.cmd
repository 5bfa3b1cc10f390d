# RUN: pack analyze ../../../../corpus/sparc/search.elf
# RUN[profiled]: pack analyze ../../../../corpus/sparc/search.elf --profile pack/search.profile --dictionary blend=50
# RUN[json]: pack analyze ../../../../corpus/sparc/search.elf --json
