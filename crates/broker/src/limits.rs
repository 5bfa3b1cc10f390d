//! Every number of the broker, asserted against its neighbours.
//!
//! Owns the numbers only: who enforces which is said at each. A deployment or a slower device may choose
//! smaller ones through [`Settings`](crate::Settings), never larger ones.

use std::time::Duration;

// What one PDU may hold; enforced by `wire`.

/// Longest plaintext of one seal, and most bytes of one random. It is the message of the MECHA paper's
/// benchmark (section 4: "each application instance is transmitting data with the length of 64KB").
pub const PLAINTEXT_BYTES_MAX: u32 = 64 * 1024;
/// Length of an AES-GCM nonce, SP 800-38D section 5.2.1.1.
pub const NONCE_BYTES: u32 = 12;
/// Length of an AES-GCM tag.
pub const TAG_BYTES: u32 = 16;
/// Longest message that `seal-aes-256-gcm` gives.
pub const SEALED_BYTES_MAX: u32 = NONCE_BYTES + PLAINTEXT_BYTES_MAX + TAG_BYTES;
/// Length of the random bytes that a device's own nonces come with: they make the subkey.
pub const SALT_BYTES: u32 = 32;
/// Longest nonce of a seal: Ascon's.
pub const NONCE_BYTES_MAX: u32 = 16;
/// Longest payload: a plaintext sealed under a nonce of the device's.
pub const PAYLOAD_BYTES_MAX: u32 = SALT_BYTES + NONCE_BYTES_MAX + PLAINTEXT_BYTES_MAX + TAG_BYTES;
/// Longest parameters, which is the longest associated data.
pub const PARAMETER_BYTES_MAX: u32 = 1024;
/// Length of the fixed header.
pub const HEADER_BYTES: usize = 40;
/// Longest PDU, without the checksum that the device wire adds.
pub const PDU_BYTES_MAX: usize = HEADER_BYTES + PARAMETER_BYTES_MAX as usize + PAYLOAD_BYTES_MAX as usize;
/// Length of the checksum on the device wire.
pub const CRC_BYTES: usize = 4;
/// Longest text that says what the broker has done: a few lines for each status and each of [`USERS_MAX`].
pub const STATUS_BYTES_MAX: usize = 32 * 1024;
/// Longest name of a key.
pub const KEY_NAME_BYTES_MAX: u32 = 64;

// What the applications may ask for; enforced by `quota` and by the core.

/// Connections at a time, if nothing else is said. Below the usual soft limit of 1024 descriptors, one of which each
/// takes.
pub const CONNECTIONS: usize = 512;
/// Those of one user: a half, so that nobody keeps the others out.
pub const CONNECTIONS_PER_USER: usize = CONNECTIONS / 2;
/// Most connections that may be chosen.
pub const CONNECTIONS_MAX: usize = 65_536;
/// Descriptors that the daemon has besides its connections: sockets, the device, files, a monitor's connections.
pub const DESCRIPTORS_BESIDES: usize = 64;
/// Users that are told apart in the statistics; further ones are counted together.
pub const USERS_MAX: usize = 64;
/// Requests of one connection that are waiting, at the device, or answered and not yet written.
pub const REQUESTS_PER_CONNECTION_MAX: usize = 64;
/// The same of all connections together.
pub const REQUESTS_MAX: usize = 8192;
/// The same of all connections of one user.
pub const REQUESTS_PER_USER_MAX: usize = REQUESTS_MAX / 2;
/// Bytes that all admitted requests may hold, each counted as the larger of itself and its longest answer.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The same of one user's.
pub const REQUEST_BYTES_PER_USER_MAX: usize = REQUEST_BYTES_MAX / 2;
/// Bytes that all connections may hold besides: requests that are not whole or not looked at, and refusals that are not
/// read. Enforced by `unfinished` and `application`.
pub const UNFINISHED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The same of one user's.
pub const UNFINISHED_BYTES_PER_USER_MAX: usize = UNFINISHED_BYTES_MAX / 2;
/// The least that may be chosen for either.
pub const UNFINISHED_BYTES_MIN: usize = 256 * 1024;
/// What an answer without a payload takes until it is written: its header, and its places in the lists.
pub const ANSWER_BYTES: usize = 128;
/// The most that one connection comes to hold of that by a read, and by what follows from it.
pub const UNFINISHED_BYTES_PER_READ: usize =
    BUFFERED_BYTES + PDU_BYTES_MAX + ANSWERS_PER_CONNECTION_MAX * ANSWER_BYTES;
/// What a request takes besides its bytes, from its admission until its answer is written.
pub const REQUEST_BESIDES_BYTES: usize = 512;
/// What a connection takes that holds nothing: its lists, once they were full, and two notices to the device.
pub const CONNECTION_BYTES: usize = 16 * 1024;
/// Connections that have rested which it looks at before it looks at its sockets again.
pub const RESTED_PER_TURN: usize = 16;
/// How soon a connection for which there was no room is looked at again.
pub const CROWDED_MS: u32 = 50;
/// Longest pause that an answer tells who was too much.
pub const BUSY_MS_MAX: u32 = 1000;
/// Answers, refusals included, that one connection may leave unread. `serve` stops reading from a
/// connection that has so many requests unanswered or answers unwritten; the core closes one with more.
pub const ANSWERS_PER_CONNECTION_MAX: usize = 256;
/// How long a connection may leave its answers unread, when the socket takes no more of them.
pub const UNREAD_MAX: Duration = Duration::from_secs(10);
/// How long a request may take to come, once it has begun. As long as answers may stay unread: nothing but an application
/// that stands still keeps back what a Unix socket takes in one piece or two.
pub const REQUEST_TIME: Duration = UNREAD_MAX;
/// Longest such time that may be chosen.
pub const REQUEST_TIME_MAX: Duration = Duration::from_secs(60);

// Whose turn it is; enforced by `rounds` and `queue`.

/// What a flow that always has something is served in a round: the longest PDU, so that each is sent in one turn.
pub const QUANTUM_BYTES: i64 = PDU_BYTES_MAX as i64;
/// What of it may go before all others: a few small requests.
pub const SPARSE_BYTES: i64 = 4096;
/// How many times what others get a user may be given.
pub const WEIGHT_MAX: u32 = 100;
/// Users whose weight may be said.
pub const WEIGHTS_MAX: usize = 16;
/// The shortest [`AGE_MAX`] that may be chosen.
pub const AGE_MIN: Duration = Duration::from_millis(1);
/// How long a lane may wait for those before it, until one of its requests goes first.
pub const AGE_MAX: Duration = Duration::from_millis(100);

// What the device is asked for; enforced by the core and by `device`.

/// Requests at the device at a time.
pub const IN_FLIGHT_MAX: usize = 64;
/// Those for each thread of a device that has several: enough to keep it busy while the loop does something else.
pub const IN_FLIGHT_PER_LANE: usize = 8;
/// Requests at the device that look for primes: never more than half of what it takes, so that the others have places.
pub const SEARCHES_MAX: usize = 8;
/// Those of one user, and never more than a quarter.
pub const SEARCHES_PER_USER_MAX: usize = SEARCHES_MAX / 2;
/// Longest payload of what the loop computes itself rather than hand it to a thread and back.
pub const QUICK_BYTES_MAX: usize = 4096;
/// Their bytes, counted as in [`REQUEST_BYTES_MAX`]. One PDU is always allowed.
pub const IN_FLIGHT_BYTES_MAX: usize = 256 * 1024;
/// What part of these bytes is for requests of at most [`SPARSE_BYTES`]: one in so many.
pub const SMALL_SHARE: usize = 8;
/// Transfers that the transceiver has: one on its way, and one that follows without a pause.
pub const TRANSFERS_MAX: usize = 2;
/// Longest transfer. A device of which small requests must not wait long is given shorter ones.
pub const TRANSFER_BYTES_MAX: usize = 128 * 1024;
/// Requests that one transfer to a bus begins. While a request travels and its answer comes, one transfer goes before it, its
/// own, and that in which the answer comes: with a quarter in each, the wire never waits for requests that are not answered.
pub const TRANSFER_REQUESTS_MAX: usize = IN_FLIGHT_MAX / 4;
/// Hosts that tell a device on TCP who they are at a time.
pub const HANDSHAKES_MAX: usize = 16;
/// How long nothing comes over TCP until the other end is asked whether it is there, how often, and with which pause.
pub const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
/// See [`KEEPALIVE_IDLE`].
pub const KEEPALIVE_PAUSE: Duration = Duration::from_secs(5);
/// See [`KEEPALIVE_IDLE`].
pub const KEEPALIVE_COUNT: u32 = 3;
/// How long the device may take for one request that it was sent.
pub const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Slowest device link that the numbers here are made for: a UART at 115 200 baud, ten bits a byte.
pub const LINK_BYTES_PER_SECOND_MIN: usize = 11_520;
/// How long opening the device may take. The slowest we know of is FTDI's sequence (AN_135), under a second.
pub const OPEN_MAX: Duration = Duration::from_secs(2);
/// Pause before the second attempt to open the device; the first comes at once.
pub const REOPEN_FIRST: Duration = Duration::from_millis(20);
/// Longest pause; each is twice the one before.
pub const REOPEN_MAX: Duration = Duration::from_secs(2);
/// Longest name that a device gives itself.
pub const DEVICE_NAME_BYTES_MAX: usize = 64;
/// Header of a frame on the link, its own checksum included.
pub const FRAME_HEADER_BYTES: usize = 12;
/// What a frame adds to a piece.
pub const FRAME_OVERHEAD_BYTES: usize = FRAME_HEADER_BYTES + CRC_BYTES;
/// Longest payload of a frame. Sixteen bytes of each frame are no PDU's, a part in 256 of the longest.
pub const FRAME_BYTES_MAX: usize = 4096;
/// PDUs that are put together at a time in one direction: as many as may be at the device, and what the broker says itself.
pub const SLOTS_MAX: usize = IN_FLIGHT_MAX + 1;
/// What is clocked when the device has something and did not say how much: an answer of 64 bytes, framed.
pub const FETCH_BYTES: usize = 128;
/// How long nothing moves while answers are owed, until the device is asked to say something.
pub const PROBE_PAUSE: Duration = Duration::from_millis(250);
/// Longest transaction of a bus; D2XX's (AN_135) is the longest that we know of.
pub const TRANSACTION_BYTES_MAX: usize = 64 * 1024;
/// Longest message of spidev, unless the driver was told otherwise (`bufsiz`).
pub const SPIDEV_BYTES_MAX: usize = 4096;
/// Longest message of i2c-dev (`i2cdev_ioctl_rdwr` in drivers/i2c/i2c-dev.c).
pub const I2C_BYTES_MAX: usize = 8192;
/// Shortest and longest pause between two looks at a device that has no signal; cryptoauthlib polls every 2 ms.
pub const POLL_PAUSE_MIN: Duration = Duration::from_micros(100);
/// See [`POLL_PAUSE_MIN`].
pub const POLL_PAUSE_MAX: Duration = Duration::from_millis(2);
/// How long a device may not acknowledge until it is taken to be gone.
pub const BUSY_MAX: Duration = Duration::from_secs(1);
/// What a UART's transaction takes: a few of its transfers.
pub const LINE_BYTES_MAX: usize = 512;
/// How long a transaction may take until the bus is taken to have stopped.
pub const TRANSACTION_MAX: Duration = Duration::from_secs(2);

// What the device keeps; enforced by `engine`.

/// Keys that the device holds.
pub const KEYS_MAX: usize = 4096;
/// Those of one user, so that nobody keeps the others out.
pub const KEYS_PER_USER_MAX: usize = KEYS_MAX / 4;
/// Entries of a key's access list.
pub const ACCESS_MAX: usize = 8;
/// Longest secret of an HMAC or HKDF key.
pub const SECRET_BYTES_MAX: usize = 512;
/// Shortest of one that the device makes. One that is given may be shorter.
pub const SECRET_BYTES_MIN: usize = 16;
/// Longest form of a key outside the device: RSA-3072 in PKCS#8, about 1800 bytes.
pub const KEY_BYTES_MAX: usize = 2048;
/// Longest public key: RSA-3072 in PKCS#1.
pub const PUBLIC_BYTES_MAX: usize = 512;
/// Handles in one answer to `key-list`.
pub const LISTED_MAX: usize = 512;
/// Longest challenge of an attestation.
pub const CHALLENGE_BYTES_MAX: u32 = 64;
/// Operations of one connection that were begun and not finished.
pub const CONTEXTS_PER_CONNECTION_MAX: usize = 16;
/// Groups of a user; Linux allows more (`NGROUPS_MAX`), and a broker tells the first.
pub const GROUPS_MAX: usize = 256;
/// Longest message of a record of the store: a key with all its attributes. Enforced, as the next ones, by `engine/store`.
pub const STORE_SEALED_BYTES_MAX: usize = KEY_BYTES_MAX + 512;
/// Records of a store, until it is written anew with what is left.
pub const STORE_RECORDS_MAX: usize = 4 * KEYS_MAX;
/// Longest store: its records and header, each to the end of a sector.
pub const STORE_BYTES_MAX: u64 = (STORE_RECORDS_MAX as u64 + 1) * (STORE_SEALED_BYTES_MAX as u64 + 1024);
/// Most memory that a store's Argon2id may ask for, in KiB.
pub const ARGON2_MEMORY_KIB_MAX: u32 = 1024 * 1024;
/// Most passes.
pub const ARGON2_PASSES_MAX: u32 = 64;
/// Most lanes.
pub const ARGON2_LANES_MAX: u32 = 64;
/// Longest word on what a store's key comes from.
pub const STORE_SOURCE_BYTES_MAX: usize = 128;
/// Shortest part of a MAC that is compared.
pub const MAC_BYTES_MIN: usize = 8;

/// Pause of a blocking client before it tries again to reach a broker that does not listen.
pub const RETRY_PAUSE: Duration = Duration::from_millis(10);

// How the daemons run; enforced by `serve` and `emulate`.

/// How long `serve` waits for the device at its start before it gives up.
pub const START_MAX: Duration = Duration::from_secs(10);
/// How often the core looks at the clock while anything is unfinished. An idle broker does not wake.
pub const TICK: Duration = Duration::from_millis(50);
/// How long requests at the device are waited for at the end.
pub const STOP_MAX: Duration = Duration::from_secs(2);
/// How long a closed connection may take to read its last answers.
pub const FLUSH_MAX: Duration = Duration::from_secs(1);
/// How long who starts its own broker waits for it.
pub const OWN_START_MAX: Duration = Duration::from_secs(30);
/// The log of an own broker is begun again when it is longer.
pub const LOG_BYTES_MAX: u64 = 1024 * 1024;
/// How often the same reason for a refusal is said in the journal.
pub const SAY_AGAIN: Duration = Duration::from_secs(1);
/// Longest time without a connection after which a broker may be told to end.
pub const IDLE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the loop, and a client that waits for an answer, look out before they sleep. To wake a processor that sleeps
/// takes a virtual machine longer than most requests take; `broker bench attention` sweeps it.
pub const ATTENTION: Duration = Duration::from_micros(50);
/// The longest [`ATTENTION`] that may be chosen.
pub const ATTENTION_MAX: Duration = Duration::from_millis(1);
/// Answers before which a client does not look out, at most, after it has done so in vain.
pub const INATTENTIVE_MAX: u32 = 64;
/// Pause after `accept` failed, so that a lack of descriptors does not spin.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Users, and sockets of its own, that the loop looks at between two waits.
pub const EVENTS_PER_TURN: usize = 256;
/// Connections of each user that it looks at meanwhile: who has more ready has the others wait for these alone.
pub const CONNECTIONS_PER_TURN: usize = 4;
/// What it reads from applications before it looks whether there are others to be read from.
pub const TURN_BYTES: usize = 64 * 1024;
/// Connections that it takes meanwhile.
pub const ACCEPTS_PER_TURN: usize = 16;
/// Requests of one connection that it takes before it looks at another one.
pub const REQUESTS_PER_TURN: usize = 64;
/// Bytes that one read takes from a stream into a buffer.
pub const READ_BYTES: usize = 64 * 1024;
/// The same between applications and the broker, where the rest of a long PDU is read to where it stays.
pub const BUFFERED_BYTES: usize = 16 * 1024;
/// The shortest such rest: reading it at once saves more than another read costs.
pub const REST_BYTES_MIN: usize = 4096;
/// PDUs, and bytes before the last of them, that one write puts on a socket. Two slices each, and Linux takes
/// 1024 slices (`IOV_MAX`).
pub const PDUS_PER_WRITE: usize = 256;
/// See [`PDUS_PER_WRITE`].
pub const BYTES_PER_WRITE: usize = 64 * 1024;

/// Connections over which official vectors are asked; each asks as many at a time as it may have begun.
pub const VECTOR_CONNECTIONS: usize = 8;

const _: () = {
    assert!(PARAMETER_BYTES_MAX <= u16::MAX as u32, "the header's field has 16 bits");
    assert!(KEY_NAME_BYTES_MAX <= PAYLOAD_BYTES_MAX);
    assert!(KEY_NAME_BYTES_MAX <= u8::MAX as u32 && ACCESS_MAX <= u8::MAX as usize, "a template's fields");
    assert!(4 + 4 * GROUPS_MAX <= PAYLOAD_BYTES_MAX as usize, "an introduction");
    assert!(8 * LISTED_MAX <= PAYLOAD_BYTES_MAX as usize, "a list of keys");
    assert!(2 * KEYS_MAX <= STORE_RECORDS_MAX, "a store that is written anew has room again");
    assert!(CONNECTIONS_PER_USER <= KEYS_PER_USER_MAX, "each connection can have a key");
    assert!(DEVICE_NAME_BYTES_MAX < PAYLOAD_BYTES_MAX as usize);
    assert!(CONNECTIONS <= REQUESTS_MAX, "each connection can have one request");
    assert!(
        UNFINISHED_BYTES_MIN / 2 >= PDU_BYTES_MAX + ANSWER_BYTES,
        "who is alone can send the longest request"
    );
    assert!(REQUESTS_PER_CONNECTION_MAX <= REQUESTS_MAX);
    assert!(
        REQUESTS_PER_CONNECTION_MAX * PDU_BYTES_MAX <= REQUEST_BYTES_PER_USER_MAX,
        "one connection is never refused for bytes"
    );
    assert!(
        2 * REQUESTS_PER_CONNECTION_MAX <= ANSWERS_PER_CONNECTION_MAX,
        "refusals do not stop the admitted"
    );
    assert!(
        PDU_BYTES_MAX <= IN_FLIGHT_BYTES_MAX - IN_FLIGHT_BYTES_MAX / SMALL_SHARE,
        "the longest PDU is no special case"
    );
    assert!(PDU_BYTES_MAX <= TRANSFER_BYTES_MAX, "a request need not be cut");
    assert!(I2C_BYTES_MAX <= TRANSACTION_BYTES_MAX && LINE_BYTES_MAX <= TRANSACTION_BYTES_MAX);
    assert!(BUSY_MAX.as_millis() < TRANSACTION_MAX.as_millis());
    assert!(SLOTS_MAX <= 0x42, "kinds of frames begin behind the slots");
    assert!(FRAME_BYTES_MAX <= u16::MAX as usize, "the frame's field has 16 bits");
    // There and back at the slowest link, before the watchdog bites.
    assert!(2 * IN_FLIGHT_BYTES_MAX / LINK_BYTES_PER_SECOND_MIN < ANSWER_MAX.as_secs() as usize);
    assert!(TICK.as_millis() * 4 <= UNREAD_MAX.as_millis() && TICK.as_millis() * 4 <= STOP_MAX.as_millis());
    assert!(OPEN_MAX.as_millis() < START_MAX.as_millis());
    assert!(2 * PDUS_PER_WRITE <= 1024, "IOV_MAX");
    assert!(
        2 * VECTOR_CONNECTIONS * CONTEXTS_PER_CONNECTION_MAX <= KEYS_PER_USER_MAX,
        "a vector has two keys at most"
    );
};
