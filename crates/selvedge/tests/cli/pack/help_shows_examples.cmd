# RUN: pack --help
# RUN[analyze]: pack analyze --help
# RUN[key]: pack key --help
# RUN[build]: pack build --help
# RUN[run]: pack run --help
# RUN[verify]: pack verify --help
# RUN[unseal]: pack unseal --help
# RUN[sweep]: pack sweep --help
