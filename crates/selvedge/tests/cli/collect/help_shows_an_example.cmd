# RUN: collect read --help
