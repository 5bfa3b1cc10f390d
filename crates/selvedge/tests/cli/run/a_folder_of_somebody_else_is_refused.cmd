# This folder holds tests, and no run began it.
# FAIL: run run/a_schedule_that_fits_is_printed.toml --out run
