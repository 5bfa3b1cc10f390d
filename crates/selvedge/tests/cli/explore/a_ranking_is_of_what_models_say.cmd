# RUN: explore algorithms --models ../../../explore/models/vex5.ndjson --space all --size 512,512 --top 5 --only cios/kary-4/garner/constants/32,cios/kary-4/garner/constants/32,sos/sliding-4/gauss/tables/32,divide/binary/whole/fresh/16
# RUN[analytic]: explore algorithms --models ../../../explore/models/vex5.ndjson --size 512 --analytic --state cold --top 3
# RUN[aes]: explore algorithms --models ../../../explore/models/vex5.ndjson --space aes
