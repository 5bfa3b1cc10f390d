# ENV: PATH=%tmp
# FAIL[model](3): explore model --root ../../../..
# FAIL[validate](3): explore validate --models ../../../explore/models/vex5.ndjson --root ../../../..
# FAIL[secrets](3): explore algorithms --models ../../../explore/models/vex5.ndjson --space aes --size 128 --constant-time --root ../../../..
