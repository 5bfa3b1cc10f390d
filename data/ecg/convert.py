#!/usr/bin/env python3
"""Makes ecg.csv from the recording that SciPy 1.11.4 ships, byte for byte the same on every run.

Owns the way from the published wheel to the committed CSV: fetches the wheel by name and version with
pip into a temporary folder, checks the recording against the checksum below, writes one raw sample a
line. Leaves scale, licence and attribution to README.md and the meaning of the samples to deployments.

Usage: data/ecg/convert.py [--check]     (--check writes nothing and compares with what is committed)
"""

import array
import ast
import hashlib
import io
import pathlib
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = "scipy==1.11.4"  # the last release whose wheel holds the recording; 1.12 fetches it at run time
MEMBER = "scipy/misc/ecg.dat"
MEMBER_SHA256 = "f20ad3365fb9b7f845d0e5c48b6fe67081377ee466c3a220b7f69f35c8958baf"  # as in the wheel's RECORD
SAMPLES = 108_000  # five minutes at 360 Hz


def fetch(folder: pathlib.Path) -> pathlib.Path:
    """Downloads the wheel. Interpreter and platform are pinned: any wheel of the release would do."""
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
         "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311",
         "--platform", "manylinux2014_x86_64", "--dest", str(folder), PACKAGE],
        check=True,
    )
    (wheel,) = folder.glob("scipy-*.whl")
    return wheel


def samples(recording: bytes) -> array.array:
    """The samples of the NumPy archive (.npz: a zip of .npy). Its format is read here in a few lines
    (NumPy enhancement proposal 1) so that the conversion needs nothing but Python."""
    npy = zipfile.ZipFile(io.BytesIO(recording)).read("ecg.npy")
    assert npy[:8] == b"\x93NUMPY\x01\x00", "not a version 1.0 .npy file"
    start = 10 + int.from_bytes(npy[8:10], "little")
    header = ast.literal_eval(npy[10:start].decode("latin1"))
    assert header == {"descr": "<u2", "fortran_order": False, "shape": (SAMPLES,)}, header
    values = array.array("H", npy[start:])
    if sys.byteorder == "big":
        values.byteswap()
    assert len(values) == SAMPLES and max(values) < 2048, "expected 108000 samples of 11 bits"
    return values


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        recording = zipfile.ZipFile(fetch(pathlib.Path(folder))).read(MEMBER)
    found = hashlib.sha256(recording).hexdigest()
    if found != MEMBER_SHA256:
        print(f"error: {MEMBER}: SHA-256 is {found}, expected {MEMBER_SHA256}", file=sys.stderr)
        return 1
    csv = ("mlii\n" + "".join(f"{value}\n" for value in samples(recording))).encode()
    checksum = f"{hashlib.sha256(csv).hexdigest()}  ecg.csv\n".encode()
    for name, content in (("ecg.csv", csv), ("ecg.csv.sha256", checksum)):
        path = HERE / name
        if "--check" not in sys.argv[1:]:
            path.write_bytes(content)
        elif path.read_bytes() != content:
            print(f"error: {path} is not what this script makes", file=sys.stderr)
            return 1
    print(checksum.decode(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
