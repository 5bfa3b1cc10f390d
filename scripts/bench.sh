#!/usr/bin/env bash
# Measures every goal and prints it as goal, value, peer, the peer's value, what is wanted, and whether it is met.
# Programs print what else they have to say, and for each goal one line of six fields with tabs between them:
#   goal  WHAT  VALUE  PEER  PEER'S VALUE  >= or <= and the number wanted
# Timed values are of this machine while it does what it does; cycle counts are the same everywhere.
set -euo pipefail
cd "$(dirname "$0")/.."
# Peers that scripts/peers.sh has built.
export PATH="$PWD/target/tools/bin:$PATH"

log=$(mktemp)
trap 'rm -f "$log"' EXIT

measure() {
    local begin=$SECONDS
    echo "== $1"
    shift
    "$@" 2>&1 | tee -a "$log" | grep -v '^goal	'
    echo "took $((SECONDS - begin)) s"
    echo
}

# Built first, so that nothing compiles while something is timed.
echo "== build"
cargo build --locked --quiet --release -p selvedge
cargo bench --locked --quiet --no-run -p selvedge --bench variants --bench weaving --bench packing
cargo bench --locked --quiet --no-run -p isa --bench avr --bench sparc --bench rv32
cargo bench --locked --quiet --no-run -p explore --bench kernels --bench exploration
cargo bench --locked --quiet --no-run -p pack --bench bus --bench packing --bench rv32 --bench codes --bench chain
cargo bench --locked --quiet --no-run -p collect --bench aes --bench ascon --bench ingest
cargo bench --locked --quiet --no-run --manifest-path witness/Cargo.toml --bench speed
echo

# What `make run` does once everything is built, in a folder of its own.
run() {
    local out begin seconds
    out=$(mktemp -d)
    begin=$(date +%s%N)
    cargo run --locked --quiet --release -p selvedge -- run deployments/ecg.toml --out "$out/ecg"
    seconds=$(awk -v ns=$(($(date +%s%N) - begin)) 'BEGIN {printf "%.1f", ns / 1e9}')
    rm -rf "$out"
    printf 'goal\tmake run, s\t%s\t-\t-\t<= 60\n' "$seconds"
}

measure "the whole link" run
measure "the broker" cargo run --locked --quiet --release -p selvedge -- broker bench --goals
measure "the server's AES" cargo bench --locked --quiet -p collect --bench aes
measure "ciphers on the chips" cargo bench --locked --quiet -p selvedge --bench variants
measure "Ascon, many messages at once" cargo bench --locked --quiet -p collect --bench ascon
measure "frames to a log in memory" cargo bench --locked --quiet -p collect --bench ingest
# Ends the servers of a cluster, waits for them, and removes what they kept: end_cluster FOLDER
end_cluster() {
    local pid
    scripts/nats.sh stop "$1"
    for pid in "$1"/*.pid; do
        [ -e "$pid" ] || continue
        timeout 60 tail --pid="$(cat "$pid")" -f /dev/null || echo "a server of NATS did not end: $pid" >&2
    done
    rm -rf "$1"
}

# Whether memory may be locked without a limit: by the limit, or by CAP_IPC_LOCK, which is bit 14 (capabilities(7)).
may_lock() {
    [ "$(ulimit -l)" = unlimited ] || ((0x$(sed -n 's/^CapEff:\t//p' /proc/self/status) >> 14 & 1))
}

# A cluster of NATS for it, where its servers can be brought. A shell of its own, so that its trap ends them however it ends.
bench_collect() (
    mkdir -p out/bench
    options=(--page out/bench/collect.html)
    cluster=$(mktemp -d)
    trap 'end_cluster "$cluster"' EXIT
    trap 'exit 130' INT TERM
    if scripts/nats.sh start "$cluster" 4622 >&2; then
        options+=(--cluster "$cluster")
    fi
    # As a server of measurements is run that may: what it stores goes on as soon as the disk has answered, and none of
    # its memory is taken away.
    if chrt --fifo 10 true 2>/dev/null; then
        options+=(--policy fifo-commit)
        if may_lock; then
            options+=(--lock-memory)
        else
            echo "no right to lock memory: the host may take the server's away"
        fi
    else
        echo "no right to SCHED_FIFO: the server's threads are in SCHED_OTHER"
    fi
    cargo run --locked --quiet --release -p selvedge -- collect bench --goals "${options[@]}"
)
measure "the server over TLS to disk" bench_collect
measure "weaving" cargo bench --locked --quiet -p selvedge --bench weaving
measure "the AVR, by program and observer" cargo bench --locked --quiet -p isa --bench avr
measure "cryptography on a 32-bit core" cargo bench --locked --quiet -p explore --bench kernels
measure "exploration" cargo bench --locked --quiet -p explore --bench exploration
packing_begin=$SECONDS
measure "SPARC, by program" cargo bench --locked --quiet -p isa --bench sparc
measure "RV32, by program" cargo bench --locked --quiet -p isa --bench rv32
measure "packing" cargo bench --locked --quiet -p pack --bench packing
measure "packing, as a process" cargo bench --locked --quiet -p selvedge --bench packing
measure "packed programs behind caches" cargo bench --locked --quiet -p pack --bench bus
measure "packed RV32 programs" cargo bench --locked --quiet -p pack --bench rv32
measure "codes that are decoded on fill" cargo bench --locked --quiet -p pack --bench codes
measure "the chain" cargo bench --locked --quiet -p pack --bench chain
measure "the hardware, synthesised" scripts/rtl.sh synth
printf 'goal\tpacking: its share of all this, min\t%s\t-\t-\t<= 60\n' $(((SECONDS - packing_begin + 59) / 60)) >>"$log"
measure "simulators" cargo bench --locked --quiet --manifest-path witness/Cargo.toml --bench speed

# What has no row below.
grep '^skip' "$log" || true
echo "== goals"
awk -F: '/^model name/ {model = $2} /^processor/ {cores++} END {printf "machine:%s, %d cores", model, cores}' /proc/cpuinfo
echo ", load $(cut -d' ' -f1 /proc/loadavg), $(rustc --version | cut -d' ' -f1-2), $(avr-gcc --version | head -1)"
awk -F'\t' '
    function pad(text, width) { while (length(text) < width) text = text " "; return text }
    BEGIN { rows = 1; split("goal\tvalue\tpeer\tpeer value\tgoal value\tmet", cell, "\t")
            for (i = 1; i <= 6; i++) grid[1, i] = cell[i] }
    $1 == "goal" {
        rows++
        for (i = 2; i <= 6; i++) grid[rows, i - 1] = $i
        split($6, wanted, " ")
        met = wanted[1] == ">=" ? $3 + 0 >= wanted[2] + 0 : $3 + 0 <= wanted[2] + 0
        grid[rows, 6] = met ? "yes" : "NO"
    }
    END {
        for (i = 1; i <= 6; i++) for (r = 1; r <= rows; r++) if (length(grid[r, i]) > width[i]) width[i] = length(grid[r, i])
        for (r = 1; r <= rows; r++) {
            line = ""
            for (i = 1; i <= 6; i++) line = line (i > 1 ? " | " : "") pad(grid[r, i], width[i])
            print line
        }
    }' "$log"
