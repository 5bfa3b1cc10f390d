# FAIL: collect read run/a_schedule_that_fits_is_printed.toml --out %tmp/out --export %tmp/samples.xls
# FAIL[format](2): collect read run/a_schedule_that_fits_is_printed.toml --out %tmp/out --export %tmp/samples --format xls
# FAIL[time](2): collect read run/a_schedule_that_fits_is_printed.toml --out %tmp/out --from 90
# FAIL[exists]: collect read run/a_schedule_that_fits_is_printed.toml --out %tmp/out --format csv --export readme.cmd
# FAIL[stream]: collect read run/a_schedule_that_fits_is_printed.toml --out %tmp/out --format hdf5 --export /dev/null
