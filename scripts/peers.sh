#!/usr/bin/env bash
# Measures the broker beside its peers, after bringing them from packages: p11-kit and SoftHSM from the distribution,
# and into target/tools Parsec from its crates, which takes some minutes to build and is built once.
#   scripts/peers.sh [FLAGS OF selvedge broker bench]
#   scripts/peers.sh --bring       only brings them
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh bench
tools=$(realpath -m target/tools)
version=1.5.0
if [ "$(cat "$tools/parsec.version" 2>/dev/null)" != "$version" ]; then
    echo "building Parsec $version" >&2
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    if CARGO_TARGET_DIR="$tools/build" nice cargo install --locked --quiet --root "$tools" --version "$version" \
        --features mbed-crypto-provider,pkcs11-provider parsec-service >"$log" 2>&1; then
        echo "$version" >"$tools/parsec.version"
    else
        cat "$log" >&2
        echo "could not build Parsec; it is left out" >&2
    fi
    rm -rf "$tools/build"
fi
[ "${1:-}" != --bring ] || exit 0
cargo build --locked --quiet --release -p selvedge
PATH="$tools/bin:$PATH" exec target/release/selvedge broker bench peers "$@"
