# RUN: weave --help
# RUN[check]: weave check --help
