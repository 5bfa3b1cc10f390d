# ENV: PATH=%tmp
# FAIL(3): run run/a_schedule_that_fits_is_printed.toml --out %tmp/out --root ../../../..
