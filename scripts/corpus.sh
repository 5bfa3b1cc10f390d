#!/usr/bin/env bash
# Builds the programs that pack is measured with, for SPARC V8 and RV32IM, with inputs and outputs. What is committed in
# corpus/ and data/workload is the result; no test needs the compilers.
#   scripts/corpus.sh          makes corpus/ and data/workload again
#   scripts/corpus.sh check    builds all again in another folder, from the C library on, and compares
#   scripts/corpus.sh same P...  builds these programs alone again, with the compilers that there are, and compares
#   scripts/corpus.sh count    runs each program with each input and writes how many instructions that took
#   scripts/corpus.sh table    prints the table of corpus/README.md
# Compilers and sources come from packages, once, into target/tools; versions are in corpus/*/*.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/apart.sh

# The order of files is one of bytes, wherever this runs.
export LC_ALL=C
here=$PWD
sources=$here/target/tools/sources
programs=(cjpeg djpeg dijkstra search susan pegwit bzip2 minigzip lua)

# The SHA-256 of each, as the images of corpus/ were made from.
recorded() {
    cat <<'END'
ab5a03176ee106d3f0fa90e381da478ddae405918153cca248e682cd0c4a2269  bzip2_1.0.8.orig.tar.gz
254f3642b04e309fee775123133c6464181addc150499561020312ec61c1bf7c  libjpeg-turbo_2.1.5.orig.tar.gz
164c7849653b80ae67bec4b7473b884bf5cc8d2dca05653475ec2ed27b9ebf61  lua5.4_5.4.4.orig.tar.gz
71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1  zlib_1.2.13.dfsg.orig.tar.bz2
END
}

# Refuses sources that are others than recorded: verify FILE
verify() {
    if ! diff <(recorded) "$1" >&2; then
        echo "error: sources differ from those of corpus/: found >, expected <" >&2
        echo "help: to take new ones on purpose, change \`recorded\` in scripts/corpus.sh" >&2
        exit 1
    fi
}

# The upstream part of four packages of the distribution: name, and `version` behind them.
fetch() {
    local name scratch wanted=(libjpeg-turbo bzip2 zlib lua5.4)
    if [ -e "$sources/version" ]; then
        verify "$sources/version"
        return 0
    fi
    rm -rf "$sources"
    mkdir -p "$sources"
    scratch=$(mktemp -d)
    (cd "$scratch" && sources_apart "$scratch" && apt_apart "$scratch" source --download-only "${wanted[@]}") >&2
    sha256sum "$scratch"/*.orig.tar.* | sed "s,$scratch/,," >"$sources/versions"
    verify "$sources/versions"
    for name in "${wanted[@]}"; do
        mkdir "$sources/$name"
        tar -xf "$scratch/${name}"_*.orig.tar.* -C "$sources/$name" --strip-components=1
    done
    rm -rf "$scratch"
    settings
    mv "$sources/versions" "$sources/version"
}

# What libjpeg-turbo's own build asks a compiler, answered: nothing beyond C, no vector instructions, no arithmetic
# coding.
settings() {
    local version
    cd "$sources/libjpeg-turbo"
    version=$(sed -n 's/^set(VERSION \(.*\))/\1/p' CMakeLists.txt)
    printf '#define %s\n' 'JPEG_LIB_VERSION 62' "LIBJPEG_TURBO_VERSION $version" \
        'LIBJPEG_TURBO_VERSION_NUMBER 2001005' 'BITS_IN_JSAMPLE 8' 'MEM_SRCDST_SUPPORTED' >jconfig.h
    # picolibc has a FALLTHROUGH of its own, which lacks the semicolon.
    printf '#include <sys/cdefs.h>\n#undef FALLTHROUGH\n' >jconfigint.h
    printf '#define %s\n' 'BUILD "corpus"' 'INLINE __inline__' 'THREAD_LOCAL' 'PACKAGE_NAME "libjpeg-turbo"' \
        "VERSION \"$version\"" 'SIZEOF_SIZE_T __SIZEOF_SIZE_T__' 'FALLTHROUGH' >>jconfigint.h
    sed 's/@COPYRIGHT_YEAR@/2023/' jversion.h.in >jversion.h
    cd "$here"
}

# Sets `files`, `flags` and `origin` of a program; paths are from the folder that has sources and firmware in it.
describe() {
    local jpeg=sources/libjpeg-turbo list
    flags= origin="our own C, firmware/workload (MIT OR Apache-2.0)"
    case $1 in
        cjpeg | djpeg)
            origin="libjpeg-turbo (IJG AND BSD-3-Clause AND Zlib)"
            flags="-I$jpeg -DBMP_SUPPORTED -DGIF_SUPPORTED -DPPM_SUPPORTED -DTARGA_SUPPORTED"
            list="jcapimin jcapistd jccoefct jccolor jcdctmgr jchuff jcicc jcinit jcmainct jcmarker jcmaster"
            list+=" jcomapi jcparam jcphuff jcprepct jcsample jctrans jdapimin jdapistd jdatadst jdatasrc"
            list+=" jdcoefct jdcolor jddctmgr jdhuff jdicc jdinput jdmainct jdmarker jdmaster jdmerge jdphuff"
            list+=" jdpostct jdsample jdtrans jerror jfdctflt jfdctfst jfdctint jidctflt jidctfst jidctint"
            list+=" jidctred jquant1 jquant2 jutils jmemmgr jmemnobs jsimd_none"
            [ "$1" = cjpeg ] && list="cjpeg rdbmp rdgif rdppm rdtarga $list" ||
                list="djpeg rdcolmap wrbmp wrgif wrppm wrtarga $list"
            files=$(printf " $jpeg/%s.c" cdjpeg rdswitch $list)
            ;;
        bzip2)
            origin="bzip2 (bzip2-1.0.6)"
            files=$(printf ' sources/bzip2/%s.c' bzip2 blocksort huffman crctable randtable compress decompress bzlib)
            ;;
        minigzip)
            origin="zlib (Zlib)"
            flags="-Isources/zlib -DHAVE_UNISTD_H"
            files=$(printf ' sources/zlib/%s.c' test/minigzip adler32 crc32 deflate inffast inflate inftrees trees \
                zutil gzclose gzlib gzread gzwrite)
            ;;
        lua)
            origin="Lua (MIT)"
            # The order of a table is the same in every run.
            flags="-Dluai_makeseed(L)=20061023u"
            files=$(cd "$here/target/tools" && ls sources/lua5.4/src/*.c | grep -v luac.c | tr '\n' ' ')
            ;;
        pegwit)
            files="firmware/workload/pegwit.c firmware/workload/gf2m.c firmware/workload/sha256.c"
            files+=" firmware/crypto/aes128_c8.c firmware/crypto/aes128_ctr_c8.c"
            ;;
        *) files="firmware/workload/$1.c" ;;
    esac
}

# Compiles a program: build COMPILER PROGRAM OUT [LIBRARY], from the current folder
build() {
    describe "$2"
    nice $1 -w $flags $files -o "$3" ${4:-}
}

# The three builds of all programs, below a new folder: build_all FOLDER
build_all() {
    local program target out folder=$1
    mkdir -p "$folder"/{native,sparc,rv32}
    ln -sfn "$sources" "$folder/sources"
    ln -sfn "$here/firmware" "$folder/firmware"
    cd "$folder"
    for program in "${programs[@]}"; do
        build "cc -O2 -ffp-contract=off" "$program" "native/$program" -lm
        for target in sparc rv32; do
            out=$target/$program.elf
            build "$here/target/tools/${names[$target]}/cc" "$program" "$out"
            "${strips[$target]}" --strip-debug "$out"
            sidecar "$target" "$program" >"$out.txt"
        done
    done
    cd "$here"
}

declare -A names=([sparc]=sparc-v8 [rv32]=rv32im)
declare -A strips=([sparc]=sparc64-linux-gnu-strip [rv32]=riscv64-unknown-elf-strip)

# What a committed image comes from: sidecar TARGET PROGRAM
sidecar() {
    describe "$2"
    cat <<END
program: $2, from $origin
sha256: $(sha256sum <"$1/$2.elf" | cut -d' ' -f1)
command: scripts/corpus.sh, which runs
    $(printf '%q ' cc -w $flags $files -o "$2.elf")&& ${strips[$1]} --strip-debug $2.elf
cc: target/tools/${names[$1]}/cc, which scripts/${1}.sh makes and which runs
    $(sed -n '/^exec/,$p' "$here/target/tools/${names[$1]}/cc" | tr -d '\\\n' | tr -s ' ' |
        sed "s,$here/,,g; s,/usr/lib/,,g")
packages:
$(sed 's/^/    /' "$here/target/tools/${names[$1]}/version")
sources:
$(sed 's/^/    /' "$here/target/tools/sources/version")
END
}

# One run: run_one LOADER FOLDER PROGRAM ARGUMENT... ; `<` before standard input. Prints what the program does.
run_one() {
    local loader=$1 program=$2/$3 words=() input=/dev/null
    shift 3
    while [ $# -gt 0 ]; do
        if [ "$1" = '<' ]; then
            input=$2
            shift
        else
            words+=("$1")
        fi
        shift
    done
    $loader "$program" "${words[@]}" <"$input"
}

# What the native build prints in each run, and that the others print it too: outputs FOLDER INPUTS
outputs() {
    local folder=$1 program name words expected found
    cd "$2"
    echo "program,input,output_bytes,output_sha256"
    while read -r program name words; do
        expected=$(run_one "" "$folder/native" "$program" $words | sha256sum | cut -d' ' -f1)
        for found in "qemu-sparc $folder/sparc" "qemu-riscv32 $folder/rv32"; do
            found=$(run_one ${found% *} "${found#* }" "$program.elf" $words | sha256sum | cut -d' ' -f1)
            if [ "$found" != "$expected" ]; then
                echo "error: $program with $name: a target's output has the SHA-256 $found, expected $expected" >&2
                exit 1
            fi
        done
        echo "$program,$name,$(run_one "" "$folder/native" "$program" $words | wc -c),$expected"
    done < <(grep -v '^#' "$here/data/workload/runs.txt")
    cd "$here"
}

# The inputs, below a folder: inputs FOLDER OUT. Images are encoded, and public keys computed, by the native programs.
inputs() {
    local name quality index
    python3 data/workload/make.py "$sources" target/tools/wheels "$2"
    cp "$sources/libjpeg-turbo/testimages/testorig.jpg" "$2/images"
    while read -r name quality; do
        "$1/native/cjpeg" -quality "$quality" "$2/images/$name.ppm" >"$2/images/$name.jpg"
    done <<<$'raccoon 60\neyes 90\nleaves 75\nchart 85'
    for index in 0 1 2 3 4; do
        "$1/native/pegwit" i "$2/keys/$index.secret" >"$2/keys/$index.public"
    done
    cp -r data/workload/lua "$2"
}

# Everything, below a new folder: corpus/ and data/workload as they are committed.
make_all() {
    build_all "$1/build"
    inputs "$1/build" "$1/workload"
    mkdir -p "$1/corpus"
    cp -r "$1/build"/{sparc,rv32} "$1/corpus"
    outputs "$1/build" "$1/workload" >"$1/corpus/outputs.csv"
}

tools() {
    scripts/install.sh corpus >&2
    fetch
    scripts/sparc.sh >/dev/null
    scripts/rv32.sh >/dev/null
}

# What a tree makes that has the sources of this one and nothing that was built, and whether that is what is here:
# check FOLDER
check() {
    local archive tools=target/tools
    mkdir -p "$1/data/workload" "$1/$tools" $tools/wheels
    cp -r firmware scripts "$1"
    cp -r data/ecg "$1/data"
    cp -r data/workload/{make.py,runs.txt,lua} "$1/data/workload"
    ln -s "$sources" "$here/$tools/wheels" "$1/$tools"
    "$1/scripts/corpus.sh"
    for archive in libc libm libgcc_v8; do
        cmp "$1/$tools/sparc-v8/$archive.a" "$tools/sparc-v8/$archive.a"
    done
    diff -r --exclude=README.md --exclude=licences --exclude=instructions.csv "$1/corpus" corpus
    diff -r --exclude=README.md "$1/data/workload" data/workload
}

# Whether programs are what is built of them here, with their sidecars: same FOLDER PROGRAM...
same() {
    local program target name folder=$1
    shift
    programs=("$@")
    build_all "$folder"
    for program in "${programs[@]}"; do
        for target in sparc rv32; do
            for name in "$target/$program.elf" "$target/$program.elf.txt"; do
                cmp "$folder/$name" "corpus/$name"
            done
        done
    done
}

# How many instructions each run takes: count
# A program's name and environment stand behind its arguments and decide how those are aligned, and so what strlen takes:
# the name is the same wherever the tree lies, and the environment is empty.
count() {
    local program name words target loader scratch
    scratch=$(mktemp -d)
    cc -O2 -shared -fPIC scripts/instructions.c -o "$scratch/plugin.so"
    cd data/workload
    echo "program,input,sparc_instructions,rv32_instructions"
    while read -r program name words; do
        printf '%s,%s' "$program" "$name"
        for target in sparc:qemu-sparc rv32:qemu-riscv32; do
            loader="env -i $(command -v "${target#*:}") -plugin $scratch/plugin.so,to=$scratch/count"
            run_one "$loader" "../../corpus/${target%:*}" "$program.elf" $words >"$scratch/output"
            printf ',%s' "$(cat "$scratch/count")"
        done
        echo
    done < <(grep -v '^#' runs.txt)
    cd "$here"
    rm -rf "$scratch"
}

# Bytes of code and constants, of the whole file, and instructions of the shortest and longest run, by program: table
table() {
    local program target size column
    echo "| program | SPARC: .text, .rodata, file | instructions | RV32: .text, .rodata, file | instructions |"
    echo "|---|---|---|---|---|"
    for program in "${programs[@]}"; do
        printf '| %s' "$program"
        for target in sparc:sparc64-linux-gnu-size:3 rv32:riscv64-unknown-elf-size:4; do
            IFS=: read -r target size column <<<"$target"
            "$size" -A "corpus/$target/$program.elf" | awk -v bytes="$(stat -c %s "corpus/$target/$program.elf")" '
                $1 == ".text" { text = $2 } $1 == ".rodata" { rodata = $2 }
                END { printf " | %d, %d, %d", text, rodata, bytes }'
            awk -F, -v program="$program" -v column="$column" '
                $1 == program { n = $column; if (!low || n < low) low = n; if (n > high) high = n }
                END { printf " | %.1f to %.1f million", low / 1e6, high / 1e6 }' corpus/instructions.csv
        done
        echo " |"
    done
}

case "${1:-}" in
    '')
        tools
        folder=$(mktemp -d)
        trap 'rm -rf "$folder"' EXIT
        make_all "$folder"
        mkdir -p corpus
        cp -r "$folder/corpus/." corpus
        cp -r "$folder/workload/." data/workload
        ;;
    check)
        tools
        folder=$(mktemp -d)
        trap 'rm -rf "$folder"' EXIT
        check "$folder"
        echo "corpus/ and data/workload are what is built here, byte for byte"
        ;;
    same)
        shift
        tools
        folder=$(mktemp -d)
        trap 'rm -rf "$folder"' EXIT
        same "$folder" "$@"
        echo "$* are what is built here, byte for byte"
        ;;
    count) count >corpus/instructions.csv ;;
    table) table ;;
    *)
        sed -n 4,8p "$0" >&2
        exit 2
        ;;
esac
