# The firmware is compiled from the tree that the run is told of. Its one error is the node's own.
# FAIL(3): run run/a_schedule_that_fits_is_printed.toml --out %tmp/out
# FAIL[json](3): run run/a_schedule_that_fits_is_printed.toml --out %tmp/out --json
