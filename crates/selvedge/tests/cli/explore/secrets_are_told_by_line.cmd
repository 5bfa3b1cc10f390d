# RUN[aes]: explore algorithms --models ../../../explore/models/vex5.ndjson --space aes --only aes_t1,aes_t4_rv32,aes_fixsliced --size 128 --constant-time --root ../../../..
# RUN[powers]: explore algorithms --models ../../../explore/models/vex5.ndjson --space all --size 512 --state warm --only cios/sliding-4/garner/constants/32,cios/fixed-4/garner/constants/32 --constant-time --root ../../../..
