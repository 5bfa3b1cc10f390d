# FAIL(3): collect read run/a_schedule_that_fits_is_printed.toml --out %tmp/out
# FAIL[verify](3): collect verify run/a_schedule_that_fits_is_printed.toml --out %tmp/out
