# FAIL(2): node build run/a_schedule_that_fits_is_printed.toml --out %tmp/out --graph %tmp/controller.png
