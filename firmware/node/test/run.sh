#!/bin/sh
# Tests the node without hardware: its pure parts on the host under sanitizers, then its images against their budgets.
#
#     run.sh [TEST...]      SEED=N replays a run; OUT=DIR keeps what is built
#
# Needs gcc; avr-gcc, avr-binutils and python3 for the second half, which is skipped aloud without them (CI=true: fails).
set -eu
cd "$(dirname "$0")/.."
out=${OUT:-$(mktemp -d)}
[ -n "${OUT:-}" ] || trap 'rm -rf "$out"' EXIT
mkdir -p "$out"

pure="beacon.c counter.c downlink.c epoch.c frame.c policy.c provision.c timebase.c"
# shellcheck disable=SC2086
gcc -std=gnu11 -O2 -g -Wall -Wextra -Werror -fno-sanitize-recover=all -fsanitize=address,undefined \
    -o "$out/node_test" test/*.c $pure ../crypto/ascon_aead128_c64.c ../crypto/aes128_c8.c ../crypto/aes128_ccm_c8.c -lm
"$out/node_test" "$@"
[ $# -eq 0 ] || exit 0

for tool in avr-gcc avr-objdump python3; do
    if ! command -v $tool >/dev/null; then
        echo "skip: the node's images: $tool is not installed" >&2
        [ "${CI:-}" != true ] || exit 1
        exit 0
    fi
done
# An image of a chip, with what the lists behind have besides.
check() {
    chip=$1 name=$2
    shift 2
    # shellcheck disable=SC2046
    avr-gcc -mmcu="$chip" $(sed -n 's/^flag //p; s/^link //p; s/^source //p' "$@") -o "$out/node_$name.elf"
    echo "$name:"
    python3 test/budget.py "$out/node_$name.elf"
}
check atmega128 atmega128 sources.txt
check atmega328p atmega328p sources.txt
check atmega128 atmega128_handler sources.txt filters_handler.txt
check atmega128 atmega128_handler_by_hand sources.txt filters_handler_by_hand.txt
