# RUN[help]: collect bench --help
# FAIL(2): collect bench nats --quick --disk %tmp
# FAIL[cluster](3): collect bench nats --quick --disk %tmp --cluster %tmp/none
# FAIL[disk](3): collect bench rate --quick --disk %tmp/none
# FAIL[time](2): collect bench soak --for 10ms --disk %tmp
