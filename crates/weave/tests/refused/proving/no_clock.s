; Not proved: there is no clock.
f: ret
