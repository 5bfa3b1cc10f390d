# FAIL: node run run/a_schedule_that_fits_is_printed.toml --out %tmp/out --only 99
# FAIL[json]: node run run/a_schedule_that_fits_is_printed.toml --out %tmp/out --only 99 --json
