# FAIL: node run ../../../../deployments/ecg.toml --out %tmp/out --trace %tmp/all.vcd
