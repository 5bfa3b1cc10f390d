# RUN: collect send run/a_schedule_that_fits_is_printed.toml 1 input=3 rate=50Hz --out %tmp/out
# RUN[json]: collect send run/a_schedule_that_fits_is_printed.toml all rate=10Hz --out %tmp/out --json
# RUN[status]: collect send run/a_schedule_that_fits_is_printed.toml all --status --out %tmp/out
# RUN[nobody]: collect send run/a_schedule_that_fits_is_printed.toml all epoch --out %tmp/out
# FAIL[epoch](1): collect send run/a_schedule_that_fits_is_printed.toml 1 epoch --out %tmp/out
# FAIL[rate](1): collect send run/a_schedule_that_fits_is_printed.toml 1 rate=30Hz --out %tmp/out
# FAIL[twice](2): collect send run/a_schedule_that_fits_is_printed.toml 1 input=1 input=2 --out %tmp/out
# FAIL[both](2): collect send run/a_schedule_that_fits_is_printed.toml 1 revoke epoch --out %tmp/out
# FAIL[word](2): collect send run/a_schedule_that_fits_is_printed.toml 1 speed=1 --out %tmp/out
# FAIL[whom](2): collect send run/a_schedule_that_fits_is_printed.toml everybody epoch --out %tmp/out
# FAIL[nothing](2): collect send run/a_schedule_that_fits_is_printed.toml 1 --out %tmp/out
# FAIL[wait](3): collect send run/a_schedule_that_fits_is_printed.toml 1 input=3 --wait --out %tmp/out
# RUN[help]: collect send --help
