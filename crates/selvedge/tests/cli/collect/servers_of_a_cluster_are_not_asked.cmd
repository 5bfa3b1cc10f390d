# RUN[revoke]: collect keys revoke run/a_cluster_of_nats_is_described.toml 1 --out %tmp/out
# RUN[rotate_store]: collect keys rotate-store run/a_cluster_of_nats_is_described.toml --out %tmp/out
# FAIL[rotate](1): collect keys rotate run/a_cluster_of_nats_is_described.toml 1 --out %tmp/out
# FAIL[retire](1): collect keys retire-store run/a_cluster_of_nats_is_described.toml 0 --out %tmp/out
# FAIL[send](1): collect send run/a_cluster_of_nats_is_described.toml 1 input=1 --out %tmp/out
# FAIL[wait](1): collect send run/a_cluster_of_nats_is_described.toml 1 input=1 --out %tmp/out --wait
# FAIL[status](1): collect send run/a_cluster_of_nats_is_described.toml all --status --out %tmp/out
