# FAIL(3): run run/a_schedule_that_fits_is_printed.toml --out /proc/selvedge
# FAIL[file](3): run run/a_schedule_that_fits_is_printed.toml --out readme.cmd/out
