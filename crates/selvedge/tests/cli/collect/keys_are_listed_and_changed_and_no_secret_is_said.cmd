# RUN: collect keys list run/a_schedule_that_fits_is_printed.toml --out %tmp/out
# RUN[json]: collect keys list run/a_schedule_that_fits_is_printed.toml --out %tmp/out --json
# RUN[revoke]: collect keys revoke run/a_schedule_that_fits_is_printed.toml 2 --out %tmp/out
# RUN[revoke_json]: collect send run/a_schedule_that_fits_is_printed.toml all revoke --out %tmp/out --json
# RUN[rotate_store]: collect keys rotate-store run/a_schedule_that_fits_is_printed.toml --out %tmp/out
# FAIL[add](1): collect keys add run/a_schedule_that_fits_is_printed.toml 2 --out %tmp/out
# FAIL[close](1): collect keys close run/a_schedule_that_fits_is_printed.toml 1 0 --out %tmp/out
# FAIL[close_none](2): collect keys close run/a_schedule_that_fits_is_printed.toml 1 256 --out %tmp/out
# FAIL[rotate](1): collect keys rotate run/a_schedule_that_fits_is_printed.toml 1 --out %tmp/out
# FAIL[retire_newest](1): collect keys retire-store run/a_schedule_that_fits_is_printed.toml 0 --out %tmp/out
# FAIL[retire_none](1): collect keys retire-store run/a_schedule_that_fits_is_printed.toml 7 --out %tmp/out
# FAIL[node](1): collect keys revoke run/a_schedule_that_fits_is_printed.toml 9 --out %tmp/out
# RUN[help]: collect keys --help
