# The scripts themselves are sourced by a shell in tests/shell.rs.
# FAIL(2): completions csh
