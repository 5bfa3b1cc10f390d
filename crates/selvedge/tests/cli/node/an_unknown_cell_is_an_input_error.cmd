# FAIL: node run run/a_schedule_that_fits_is_printed.toml --out %tmp/out --cell nope
# FAIL[build]: node build run/a_schedule_that_fits_is_printed.toml --out %tmp/out --cell nope
# FAIL[bridge]: bridge run/a_schedule_that_fits_is_printed.toml --out %tmp/out --cell nope
