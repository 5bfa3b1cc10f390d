#!/usr/bin/env bash
# Installs what the build and the tests need from the distribution, by package name, once and quietly.
# Without root it prints the one line to run and stops.
#   scripts/install.sh run     what `make run` needs
#   scripts/install.sh test    what `make test` needs as well (the default)
set -euo pipefail

run=(gcc libc6-dev make pkg-config gcc-avr avr-libc binutils-avr)
test=(arduino-core-avr clang libclang-dev libelf-dev libzstd-dev zlib1g-dev fuse3 python3 valgrind)

packages=("${run[@]}")
[ "${1:-test}" = run ] || packages+=("${test[@]}")

missing=()
for package in "${packages[@]}"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

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
