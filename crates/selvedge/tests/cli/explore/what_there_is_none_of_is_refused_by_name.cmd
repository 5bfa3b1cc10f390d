# FAIL[space]: explore algorithms --models ../../../explore/models/vex5.ndjson --space paper-c
# FAIL[candidate]: explore algorithms --models ../../../explore/models/vex5.ndjson --only cioss/kary-4/garner/constants/32
# FAIL[window]: explore algorithms --models ../../../explore/models/vex5.ndjson --only cios/kary-6/garner/constants/32
# FAIL[other]: explore algorithms --models ../../../explore/models/vex5.ndjson --only sos/sliding-4/gauss/tables/32
# FAIL[variant]: explore algorithms --models ../../../explore/models/vex5.ndjson --space aes --only aes_t5
# FAIL[size]: explore algorithms --models ../../../explore/models/vex5.ndjson --size 1000
# FAIL[formula]: explore algorithms --models ../../../explore/models/vex5.ndjson --space aes --analytic
# FAIL[models]: explore algorithms --models readme.cmd
# FAIL[nowhere](3): explore algorithms --models nowhere.ndjson
# FAIL[twice]: explore algorithms --models ../../../explore/models/vex5.ndjson,../../../explore/models/vex5.ndjson
# FAIL[leaves](2): explore model --leaves mmx
# FAIL[tree](3): explore model --root %tmp
