# So far run only checks; it must not look as if it had run.
# FAIL(2): run run/a_schedule_that_fits_is_printed.toml
