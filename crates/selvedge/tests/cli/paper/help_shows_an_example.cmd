# RUN: paper sti --help
# RUN[papers]: paper --help
