# RUN: run --help
# RUN[whole]: --help
# FAIL[nothing](2):  --json
