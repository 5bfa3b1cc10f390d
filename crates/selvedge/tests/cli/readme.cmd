# A file in this folder, or in a folder below it that is named after a tool, is a test of the command line.
# Its extension is .toml when it is an input, .cmd when there is none. This file is a test, too.
#
# The comment lines at its top are the test; the first line that is no comment ends them:
#
#   # RUN: arguments            runs `selvedge arguments` and expects exit code 0
#   # FAIL: arguments           expects exit code 1, the input was wrong
#   # FAIL(3): arguments        expects exit code 3, or whatever stands there
#   # RUN[name]: arguments      one of several commands of a file; FAIL[name](3) likewise
#   # ENV: KEY=VALUE            sets a variable for every command of the file; only PATH is inherited
#
# `%` is this file, `%tmp` a new empty folder. Commands run in this folder. What they print is compared with
# the files NAME.stdout and NAME.stderr beside the test (NAME.name.stdout for a named command); one that is
# not there is empty. In them `%tmp` and `%version` stand for what differs from run to run.
#
# A file is named by the fact that it states. `make bless` writes the golden files; look at the difference.
#
# RUN[version]: --version
# FAIL[verb](2): knit
