/*
 * The security primitives in one place: what a protocol such as TLS is made of. Each header owns its contracts, and which
 * variants there are of what it has.
 *
 *   rsa.h       RSA: keys, encryption, decryption, signatures
 *   elgamal.h   ElGamal
 *   ecc.h       ECDH and ECDSA on P-256; X25519
 *   aes.h       AES
 *   des.h       DES and Triple DES
 *   hash.h      SHA-2, SHA-1, MD5, and HMAC over any of them
 *   crypto.h    RC4, among others that are no part of this library's layers
 *
 * All of them have these rules:
 *  - The caller owns all memory: keys, scratch and randomness. Nothing is allocated or kept between calls.
 *  - <name>_init takes a key up or begins a message, and what it made is the first argument of all that goes on with it.
 *    Curves take keys as they are.
 *  - Numbers are bytes, most significant first, but for X25519's, which are as RFC 7748 has them. A cipher's blocks are
 *    worked on in place.
 *  - What holds secrets is wiped before a function returns, but for what is the result. A key that was taken up is the
 *    caller's to wipe.
 *  - A pointer MUST NOT be NULL, except where it is said.
 *  - Functions of public keys that return something refuse what is not allowed with 0, and cut nothing. Others MUST be
 *    given what their headers say.
 *  - What each takes constant time in, its header says; `selvedge explore algorithms --constant-time` looks at it.
 */
#ifndef SELVEDGE_PRIMITIVES_H
#define SELVEDGE_PRIMITIVES_H

#include "../block/aes.h"
#include "../block/des.h"
#include "../crypto.h"
#include "../hash/hash.h"
#include "ecc.h"
#include "elgamal.h"
#include "rsa.h"

#endif
