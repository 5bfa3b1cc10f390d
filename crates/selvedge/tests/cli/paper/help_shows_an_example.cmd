# RUN: paper sti --help
# RUN[papers]: paper --help
# RUN[multicore]: paper multicore --help
# RUN[bus]: paper bus --help
