#!/usr/bin/env bash
# A C library and a compiler wrapper for SPARC V8 without a floating-point unit, in target/tools/sparc-v8: Debian's gcc
# for SPARC, newlib and libgcc's C files, all from packages. Debian's own libgcc for 32-bit SPARC is for V9, and never
# linked.
#   scripts/sparc.sh           builds them unless they are there in these versions, and prints where `cc` is
# The wrapper is `cc`: it compiles, and without -c it links a static image with start files for Linux and for a
# processor without a system (firmware/workload/start), relocations kept. `version` says what it was built from.
set -Eeuo pipefail
here=$(realpath "$(dirname "$0")/..")
tools=$here/target/tools/sparc-v8
start=$here/firmware/workload/start
target=sparc64-linux-gnu
packages=(gcc-12-sparc64-linux-gnu gcc-12-multilib-sparc64-linux-gnu binutils-sparc64-linux-gnu)
packages+=(newlib-source gcc-12-source)

"$here/scripts/install.sh" corpus
version=$(dpkg-query -W -f '${Package} ${Version}\n' "${packages[@]}")
library=$(cat <(echo "$version") "$0" | sha256sum)
stamp=$(cat <(echo "$library") "$start"/* | sha256sum)
if [ "$(cat "$tools/stamp" 2>/dev/null)" = "$stamp" ]; then
    echo "$tools/cc"
    exit 0
fi

# Word for word what every object is compiled with: no system, no unit for floating point, no position-independent code,
# and a long double of 64 bits, where Linux has 128.
machine="-m32 -mcpu=leon3 -msoft-float -mlong-double-64 -ffreestanding -fno-pic -fno-pie -fno-stack-protector"
machine+=" -fno-asynchronous-unwind-tables"
for system in __linux__ __linux linux __unix__ __unix unix __gnu_linux__; do
    machine+=" -U$system"
done
compile="$target-gcc-12 $machine -O2 -g0 -ffunction-sections -fdata-sections"

scratch=$(mktemp -d)
exec 3>&2
failed() {
    tail -n 40 "$scratch/log" >&3
    echo "error: could not build $step for SPARC V8" >&3
    exit 3
}
trap failed ERR
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
steps=(start_files)
rm -f "$tools/stamp"
if [ "$(cat "$tools/library" 2>/dev/null)" != "$library" ]; then
    echo "building a C library for SPARC V8" >&2
    rm -rf "$tools"
    mkdir -p "$tools/include"
    steps=(newlib libgcc start_files)
fi

# The library is built where no path of this machine gets into it: relative to the folder.
newlib() {
    tar -xf /usr/src/newlib/newlib-*.tar.xz
    mv newlib-* newlib
    mkdir build
    cd build
    ../newlib/newlib/configure --host=sparc-elf --disable-shared --disable-multilib --enable-newlib-io-long-long \
        --enable-newlib-io-c99-formats --disable-newlib-supplied-syscalls \
        CC="$compile" CC_FOR_TARGET="$compile" AS=$target-as AR=$target-ar RANLIB=$target-ranlib NM=$target-nm \
        STRIP=$target-strip CFLAGS="-O2 -g0" MAKEINFO=true
    nice make -j1 MAKEINFO=true
    cp -r ../newlib/newlib/libc/include/. targ-include/. "$tools/include"
    cp libc.a libm.a "$tools"
    cd ..
}

# What gcc calls where SPARC has no instruction: 64 bits, floating point, division by lb1spc.S.
libgcc() {
    local name kind macro other gcc
    tar -xf /usr/src/gcc-12/gcc-*.tar.xz --wildcards 'gcc-*/libgcc/*' 'gcc-*/include/*'
    mv gcc-* gcc
    mkdir stub objects
    for name in tconfig coretypes libgcc_tm auto-target; do
        : >stub/$name.h
    done
    printf '#include <%s>\n' stddef.h limits.h float.h stdlib.h string.h >stub/tsystem.h
    printf '#define %s\n' 'BITS_PER_UNIT 8' 'UNITS_PER_WORD 4' 'MIN_UNITS_PER_WORD 4' \
        'LIBGCC2_LONG_DOUBLE_TYPE_SIZE 64' >stub/tm.h
    gcc="$compile -fbuilding-libgcc -fno-builtin -DIN_GCC -DIN_LIBGCC2 -Dinhibit_libc -DHAVE_GAS_HIDDEN -w"
    gcc+=" -Istub -Igcc/libgcc -Igcc/include -nostdinc -isystem $($target-gcc-12 -print-file-name=include)"
    gcc+=" -isystem $tools/include"
    for name in muldi3 negdi2 lshrdi3 ashldi3 ashrdi3 cmpdi2 ucmpdi2 clz clzsi2 clzdi2 ctzsi2 ctzdi2 ffssi2 ffsdi2 \
        popcount_tab popcountsi2 popcountdi2 paritysi2 paritydi2 bswapsi2 bswapdi2 fixunssfsi fixunsdfsi fixdfdi \
        fixsfdi fixunssfdi fixunsdfdi floatdidf floatdisf floatundidf floatundisf powidf2 powisf2 muldc3 divdc3 divdi3 moddi3 \
        divmoddi4 udivdi3 umoddi3 udivmoddi4 udiv_w_sdiv; do
        $gcc -DL_$name -c gcc/libgcc/libgcc2.c -o objects/$name.o
    done
    for kind in sf df; do
        macro= other=sf
        [ $kind = df ] || macro=-DFLOAT other=df
        for name in pack_$kind unpack_$kind addsub_$kind mul_$kind div_$kind fpcmp_parts_$kind compare_$kind eq_$kind \
            ne_$kind gt_$kind ge_$kind lt_$kind le_$kind unord_$kind si_to_$kind ${kind}_to_si negate_$kind make_$kind \
            ${kind}_to_$other thenan_$kind ${kind}_to_usi usi_to_$kind; do
            $gcc -DFINE_GRAINED_LIBRARIES $macro -DL_$name -c gcc/libgcc/fp-bit.c -o objects/$kind-$name.o
        done
    done
    for name in mulsi3 divsi3 modsi3; do
        $gcc -DL_$name -x assembler-with-cpp -c gcc/libgcc/config/sparc/lb1spc.S -o objects/$name.o
    done
    $target-ar rcs "$tools/libgcc_v8.a" objects/*.o
}

headers="-nostdinc -isystem $($target-gcc-12 -print-file-name=include) -isystem $tools/include"
start_files() {
    local file
    for file in sparc_user.S sparc_bare.S serve.c sparc_call.S sparc_jump.S calls.c; do
        $compile $headers -Wall -Wextra -c "$start/$file" -o "$tools/${file%.*}.o"
    done
}

wrapper() {
    cat <<END
#!/bin/sh
# SPARC V8 without a floating-point unit: made by scripts/sparc.sh.
for word; do
    [ "\$word" != -c ] || exec $compile $headers "\$@"
done
exec $compile $headers "\$@" -nostdlib -static -no-pie -Wl,--build-id=none -Wl,-z,noexecstack \\
    -Wl,-z,max-page-size=4096 -Wl,--gc-sections -Wl,-q -Wl,-T,$start/sparc.ld \\
    $tools/sparc_user.o $tools/sparc_bare.o $tools/serve.o $tools/sparc_call.o $tools/sparc_jump.o $tools/calls.o \\
    -Wl,--start-group $tools/libc.a $tools/libm.a $tools/libgcc_v8.a -Wl,--end-group
END
}

for step in "${steps[@]}"; do
    $step >"$scratch/log" 2>&1
done
wrapper >"$tools/cc"
chmod +x "$tools/cc"
echo "$version" >"$tools/version"
echo "$library" >"$tools/library"
echo "$stamp" >"$tools/stamp"
echo "$tools/cc"
