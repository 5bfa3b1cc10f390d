#!/usr/bin/env bash
# A compiler wrapper for RV32IM in target/tools/rv32im: Debian's gcc for RISC-V and its picolibc, with our start
# files.
#   scripts/rv32.sh            makes it unless it is there in these versions, and prints where `cc` is
# The wrapper is `cc`: it compiles, and without -c it links a static image for Linux, relocations kept. `version` says
# what it was made from.
set -euo pipefail
here=$(realpath "$(dirname "$0")/..")
tools=$here/target/tools/rv32im
start=$here/firmware/workload/start
target=riscv64-unknown-elf
packages=(gcc-$target binutils-$target picolibc-$target)

"$here/scripts/install.sh" corpus
version=$(dpkg-query -W -f '${Package} ${Version}\n' "${packages[@]}")
stamp=$(cat <(echo "$version") "$0" "$start"/* | sha256sum)
if [ "$(cat "$tools/stamp" 2>/dev/null)" = "$stamp" ]; then
    echo "$tools/cc"
    exit 0
fi
rm -rf "$tools"
mkdir -p "$tools"

compile="$target-gcc --specs=picolibc.specs -march=rv32im -mabi=ilp32 -mcmodel=medany -O2 -g0 -ffunction-sections"
compile+=" -fdata-sections -fno-asynchronous-unwind-tables"
for file in rv32_user.S streams_rv32.c calls.c; do
    $compile -Wall -Wextra -c "$start/$file" -o "$tools/${file%.*}.o"
done
cat >"$tools/cc" <<END
#!/bin/sh
# RV32IM: made by scripts/rv32.sh.
for word; do
    [ "\$word" != -c ] || exec $compile "\$@"
done
exec $compile "\$@" -nostartfiles -static -Wl,--build-id=none -Wl,-z,max-page-size=4096 -Wl,--gc-sections \\
    -Wl,-q -T $start/rv32.ld $tools/rv32_user.o $tools/streams_rv32.o $tools/calls.o -lm
END
chmod +x "$tools/cc"
echo "$version" >"$tools/version"
echo "$stamp" >"$tools/stamp"
echo "$tools/cc"
