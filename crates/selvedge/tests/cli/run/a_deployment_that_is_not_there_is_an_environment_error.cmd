# FAIL(3): run nowhere.toml --check
# FAIL[json](3): run nowhere.toml --check --json
