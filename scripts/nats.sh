#!/usr/bin/env bash
# Brings a server of NATS from its Go module into target/tools, and starts a cluster of three that keep batches for the
# servers of a deployment: replicated three times, and synced before they are acknowledged (`sync_interval: always`).
#   scripts/nats.sh bring                    builds nats-server, if it is not there
#   scripts/nats.sh start FOLDER [PORT]      starts three servers on PORT, PORT + 1, PORT + 2 [default: 4222], which keep
#                                            their data in FOLDER, and prints where they listen
#   scripts/nats.sh stop FOLDER              ends them; their data stays
set -euo pipefail

version=v2.15.2
tools=$(realpath -m "$(dirname "$0")/../target/tools")
server=$tools/nats-server

bring() {
    [ "$("$server" --version 2>/dev/null)" != "nats-server: $version" ] || return 0
    if ! command -v go >/dev/null; then
        echo "could not build nats-server: found no go" >&2
        return 1
    fi
    echo "building nats-server $version" >&2
    mkdir -p "$tools"
    local log
    log=$(mktemp)
    if ! GOBIN=$tools GOFLAGS=-trimpath go install "github.com/nats-io/nats-server/v2@$version" >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        echo "could not build nats-server" >&2
        return 1
    fi
    rm -f "$log"
}

# The configuration of server INDEX of a cluster: configuration FOLDER PORT INDEX
configuration() {
    local folder=$1 port=$2 index=$3 peer routes=()
    for peer in 0 1 2; do
        routes+=("nats://127.0.0.1:$((port + 1000 + peer))")
    done
    cat <<END
server_name: selvedge-$index
listen: 127.0.0.1:$((port + index))
max_payload: 1MB
jetstream {
    store_dir: "$folder/$index"
    sync_interval: always
}
cluster {
    name: selvedge
    listen: 127.0.0.1:$((port + 1000 + index))
    routes: [$(printf '"%s", ' "${routes[@]}")]
}
END
}

start() {
    local folder port=${2:-4222} index
    bring
    mkdir -p "$1"
    folder=$(realpath "$1")
    for index in 0 1 2; do
        configuration "$folder" "$port" "$index" >"$folder/$index.conf"
        if [ -e "$folder/$index.pid" ] && kill -0 "$(cat "$folder/$index.pid")" 2>/dev/null; then
            continue
        fi
        "$server" --config "$folder/$index.conf" --log "$folder/$index.log" --pid "$folder/$index.pid" &
        disown
    done
    for index in 0 1 2; do
        echo "nats://127.0.0.1:$((port + index))"
    done
}

stop() {
    local index
    for index in 0 1 2; do
        [ ! -e "$1/$index.pid" ] || kill "$(cat "$1/$index.pid")" 2>/dev/null || true
    done
}

case "${1:-}" in
    bring) bring ;;
    start) start "${2:?a folder}" "${3:-4222}" ;;
    stop) stop "${2:?a folder}" ;;
    *) sed -n 2,8p "$0" >&2; exit 2 ;;
esac
