# RUN: paper mecha --simulated --pdu-bytes 65536 --instances 5,80
# FAIL[length](2): paper mecha --pdu-bytes 100
# FAIL[many](2): paper mecha --instances 81
