# FAIL(2): man knit
