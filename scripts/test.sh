#!/usr/bin/env bash
# Format check, lints, every test of the workspace and of the witness workspace, in a long run the fuzz targets; ends
# with the list of skips.
# A test that cannot run prints `skip: what: why` and returns. With CI=true a skip is a failure, because
# scripts/install.sh has installed everything that a test may ask for; `skip (machine):` marks what no package brings.
set -uo pipefail
cd "$(dirname "$0")/.."

# A clean checkout is compiled once and looked into by nobody: what serves the next build or a debugger is left out. It
# is most of what a build keeps on the disk.
if [ "${CI:-}" = true ]; then
    export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_RELEASE_DEBUG=0
fi

log=$(mktemp)
built=$(mktemp)
trap 'rm -f "$log" "$built"' EXIT
failed=()
# Seconds that a suite may take: one that never ends is named, and costs the others nothing.
limit=2400
[ "${SELVEDGE_SOAK:-}" != 1 ] || limit=36000

step() {
    local name=$1
    shift
    echo "== $name"
    "$@" 2>&1 | tee -a "$log"
    [ "${PIPESTATUS[0]}" -eq 0 ] || failed+=("$name")
}

step "format" cargo fmt --all --check
step "lints" cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
# The part of it that other programs are linked with.
step "lints of the client" cargo clippy --locked -p broker --no-default-features --quiet -- -D warnings
build() {
    cargo test --locked --workspace --no-run --message-format=json-render-diagnostics >"$built"
}
suites() {
    python3 scripts/suites.py --limit "$limit" -- --show-output <"$built"
}
step "build" build
step "tests" suites
step "documentation tests" cargo test --locked --workspace --doc
if [ -d witness ]; then
    step "witness format" cargo fmt --manifest-path witness/Cargo.toml --check
    step "token format" cargo fmt --manifest-path witness/kryoptic/Cargo.toml --check
    step "witness lints" cargo clippy --locked --release --manifest-path witness/Cargo.toml --all-targets --quiet -- -D warnings
    step "witness" cargo test --locked --release --manifest-path witness/Cargo.toml -- --show-output
fi
[ "${SELVEDGE_SOAK:-}" != 1 ] || step "official vectors" python3 data/vectors/convert.py --check
if [ -d fuzz ]; then
    step "fuzz format" cargo fmt --manifest-path fuzz/Cargo.toml --check
    [ "${SELVEDGE_SOAK:-}" != 1 ] || step "fuzz" scripts/fuzz.sh
fi

echo
skips=$(grep -ahoE '^skip( \(machine\))?: .*' "$log" | sort -u)
if [ -n "$skips" ]; then
    echo "skipped:"
    printf '%s\n' "$skips" | sed 's/^/    /'
    if [ "${CI:-}" = true ] && printf '%s\n' "$skips" | grep -q '^skip: '; then
        failed+=("skips under CI")
    fi
else
    echo "skipped: nothing"
fi

passed=$(grep -aoE '^test result: .*' "$log" | grep -oE '[0-9]+ passed' | awk '{n += $1} END {print n + 0}')
broken=$(grep -aoE '^test result: .*' "$log" | grep -oE '[0-9]+ failed' | awk '{n += $1} END {print n + 0}')
if [ ${#failed[@]} -gt 0 ]; then
    printf 'failed: %s\n' "${failed[@]}"
    grep -aE '^test .* FAILED$|^error' "$log" | sort -u | head -40
fi
echo "$passed passed, $broken failed"
[ ${#failed[@]} -eq 0 ]
