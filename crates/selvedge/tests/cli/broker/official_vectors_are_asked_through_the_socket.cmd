# Official vectors are asked of all operations, or of one, or of one source. Every one that is asked passes. A name that
# is none is refused with those that are.
#
# RUN[agree]: broker vectors --operation agree
# RUN[json]: broker vectors --operation key-import --json
# RUN[source]: broker vectors --operation verify --source Wycheproof
# FAIL[operation](2): broker vectors --operation knit
# FAIL[unknown](2): broker vectors --source knit
# FAIL[nobody](3): broker vectors --socket nobody.sock
