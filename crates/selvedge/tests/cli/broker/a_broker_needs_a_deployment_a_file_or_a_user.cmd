# FAIL(2): broker serve
# FAIL[both](2): broker serve x.toml --own
# FAIL[status](2): broker status
