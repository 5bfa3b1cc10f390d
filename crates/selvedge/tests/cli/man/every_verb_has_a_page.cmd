# RUN[whole]: man
# RUN[run]: man run
# RUN[json]: man completions --json
