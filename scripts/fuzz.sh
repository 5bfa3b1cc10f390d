#!/usr/bin/env bash
# Builds the fuzz targets and looks with each of them for so many seconds; a finding fails, and its input is kept.
# Any rustc with LLVM's coverage pass will do: no sanitizer is used.
#   scripts/fuzz.sh              60 seconds each
#   scripts/fuzz.sh 600 source   600 seconds of one target
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
targets=(structured source linked archive pdu link pkcs11 provider messages arrivals store orders exports sparc rv32 elf program container onfill)
[ $# -lt 2 ] || targets=("${@:2}")

# Counters at every edge, which libFuzzer reads, in our code and not in build scripts: hence the target by its name.
flags="--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1"
for option in level=4 inline-8bit-counters pc-table trace-compares; do
    flags+=" -Cllvm-args=-sanitizer-coverage-$option"
done
host=$(rustc -vV | sed -n 's/^host: //p')
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
if ! echo '#![crate_type = "rlib"]' | rustc $flags --crate-name probe --out-dir "$probe" - 2>/dev/null; then
    echo "skip (machine): fuzzing: this rustc has no coverage pass"
    exit 0
fi

# What is no text begins from what a compiler makes; f, g and d are whatever the linker is told.
seed() {
    local target=$1
    shift
    mkdir -p "fuzz/corpus/$target"
    avr-gcc -mmcu=atmega128 -nostdlib "$@" -o "fuzz/corpus/$target/seed" fuzz/seeds/member.S
}
if command -v avr-gcc >/dev/null; then
    seed archive -c
    seed linked -Wl,--defsym=main=0,--defsym=g=0,--defsym=d=0x100
    seed elf -Wl,--defsym=main=0,--defsym=g=0,--defsym=d=0x100
fi
# The programs that are packed are far longer than an input: a few instructions with relocations.
packed() {
    local name=$1 tools=$2 emulation=$3 object
    shift 3
    object=$(mktemp)
    "$tools-as" "$@" -o "$object" "fuzz/seeds/packed.$name.S"
    for target in elf program; do
        mkdir -p "fuzz/corpus/$target"
        "$tools-ld" -m "$emulation" -z max-page-size=16 -n -q -o "fuzz/corpus/$target/seed-$name" "$object"
    done
    rm "$object"
}
if command -v sparc64-linux-gnu-ld >/dev/null; then packed sparc sparc64-linux-gnu elf32_sparc -32; fi
if command -v riscv64-unknown-elf-ld >/dev/null; then
    packed rv32 riscv64-unknown-elf elf32lriscv -march=rv32im -mabi=ilp32 -mno-relax
fi

RUSTFLAGS="$flags" cargo build --locked --release --quiet --manifest-path fuzz/Cargo.toml --target "$host"
folder=${CARGO_TARGET_DIR:-fuzz/target}/$host/release
for target in "${targets[@]}"; do
    echo "== $target for $seconds seconds"
    corpus=fuzz/corpus/$target
    mkdir -p "$corpus"
    # What is generated from an input grows with it; a file needs its tables.
    case $target in linked | archive | elf | program) bytes_max=2048 ;; *) bytes_max=512 ;; esac
    # What grep leaves out is not what decides: the pipe fails when the target does.
    if ! "$folder/$target" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=4096 -max_len="$bytes_max" -len_control=0 \
        -artifact_prefix="$corpus/found-" -print_final_stats=1 "$corpus" 2>&1 |
        { grep --line-buffered -E 'hosts, |DONE|stat::number|panicked|ERROR|SUMMARY|Test unit' || true; }; then
        echo "found: $(find "$corpus" -name 'found-*' -newer "$probe" | head -1)"
        exit 1
    fi
done
