// The decipher of lines: 16 bytes from memory, as they are before they were sealed (`crates/pack/src/seal/`).
//
// Owns: the keys, the order of rounds, and when a line is asked for, taken and open. What is enciphered for an address
// is `counters.v`'s, a round `aes_round.v`'s. All seals are one thing with a mask M of the line's address:
//
//   ecb   line = AES'(sealed)              M = 0
//   xts   line = AES'(sealed + M) + M      M = AES(address / 16) under the second key
//   ctr   line = sealed + M                M = AES(counter)
//
// An address is asked for; M is made while memory answers, in 10 / ROUNDS + 1 cycles; then the line is taken, and is
// open 10 / ROUNDS + 1 cycles later, in CTR in the next one. One AES serves all of it, and round keys are made on the
// way. No time depends on a key or a line.
//
// Leaves to the system: bringing keys, unwrapped, and a container's seal and start; refusing keys of XTS whose halves
// are equal; integrity. A seal that is not built in opens nothing: `o_is_free` stays low.
`default_nettype none

module decipher #(
    // Rounds of AES in a cycle: 1, 2, 5 or 10.
    parameter ROUNDS = 1,
    // The seals that are built in: bit n for number n of `SEALS`.
    parameter SEALS = 32'b11_1111
) (
    input  wire         i_clock,
    // Forgets everything. Keys come afterwards, the one for lines last.
    input  wire         i_wipe,
    input  wire         i_set_seal,
    input  wire [2:0]   i_seal,
    input  wire [95:0]  i_start,
    input  wire         i_set_tweak_key,
    input  wire         i_set_key,
    input  wire [127:0] i_key,
    // A line is asked for while the decipher is free.
    output wire         o_is_free,
    input  wire         i_asks,
    input  wire [27:0]  i_number,
    // What memory gave, which stands until it is taken.
    input  wire         i_has_line,
    input  wire [127:0] i_line,
    output wire         o_takes,
    // It stands open until the next line is asked for.
    output wire         o_is_open,
    output wire [127:0] o_line
);
    localparam [2:0] ECB = 0, XTS = 1;
    localparam [7:0] BUILT_IN = SEALS[7:0];
    // Whether AES goes backwards for any of them.
    localparam INVERTS = BUILT_IN[ECB] || BUILT_IN[XTS];
    localparam STEPS = 10 / ROUNDS;
    localparam [2:0] FREE = 0, EXPANDS = 1, MASKS = 2, WAITS = 3, OPENS = 4;
    // The first round's constant, and the last's.
    localparam [7:0] FIRST_CONSTANT = 8'h01, LAST_CONSTANT = 8'h36;

    reg [2:0] phase, seal;
    reg [3:0] left;
    reg [95:0] start;
    reg [127:0] key, key_last, tweak_key, round_key, state, mask;
    reg [7:0] constant;
    reg is_open;

    wire is_xts = BUILT_IN[XTS] && seal == XTS;
    wire is_ecb = BUILT_IN[ECB] && seal == ECB;
    wire is_ctr = !is_xts && !is_ecb;
    wire begins = o_is_free && i_asks && !i_set_key;
    wire inverse = INVERTS && (phase == WAITS || phase == OPENS);
    wire runs = left != 0;
    wire is_last_step = left == 1;

    assign o_is_free = phase == FREE && BUILT_IN[seal];
    assign o_takes = phase == WAITS && i_has_line;
    assign o_is_open = is_open;
    assign o_line = state ^ mask;

    // The block and the key that AES begins with. In that cycle the first round's key is made, so that a round need not
    // wait for its key.
    wire [127:0] counter, made;
    wire [127:0] first_block = inverse ? i_line ^ mask : counter;
    wire [127:0] first_key = inverse ? key_last : is_xts ? tweak_key : key;
    wire [7:0] first_constant = inverse ? LAST_CONSTANT : FIRST_CONSTANT;
    wire loads = begins && !is_ecb || o_takes && !is_ctr;

    wire [127:0] next_block, next_key, key_after_one;
    wire [7:0] next_constant, constant_after_one;
    genvar step;
    generate
        for (step = 0; step < ROUNDS; step = step + 1) begin : rounds
            wire [127:0] block_in, block_out, key_in, key_out;
            wire [7:0] constant_in, constant_out;
            if (step == 0) begin : first
                assign block_in = state;
                assign key_in = loads ? first_key : round_key;
                assign constant_in = loads ? first_constant : constant;
            end else begin : later
                assign block_in = rounds[step - 1].block_out;
                assign key_in = rounds[step - 1].key_out;
                assign constant_in = rounds[step - 1].constant_out;
            end
            aes_round u_round (
                .i_inverse(inverse), .i_last(is_last_step && step == ROUNDS - 1),
                .i_block(block_in), .i_key(key_in), .o_block(block_out)
            );
            aes_key u_key (
                .i_inverse(inverse), .i_key(key_in), .o_key(key_out),
                .i_constant(constant_in), .o_constant(constant_out)
            );
        end
    endgenerate
    assign next_block = rounds[ROUNDS - 1].block_out;
    assign next_key = rounds[ROUNDS - 1].key_out;
    assign next_constant = rounds[ROUNDS - 1].constant_out;
    assign key_after_one = rounds[0].key_out;
    assign constant_after_one = rounds[0].constant_out;

    counters u_counters (
        .i_seal(seal), .i_start(start), .i_number(i_number), .o_counter(counter),
        .i_block(next_block), .o_mask(made)
    );

    // Keys and seal.
    always @(posedge i_clock) begin
        if (i_wipe) begin
            {seal, start, key, tweak_key} <= 0;
        end else begin
            if (i_set_seal) {seal, start} <= {i_seal, i_start};
            if (i_set_key) key <= i_key;
            if (i_set_tweak_key && BUILT_IN[XTS]) tweak_key <= i_key;
        end
    end

    // What is being done.
    always @(posedge i_clock) begin
        if (i_wipe) begin
            phase <= FREE;
            {left, is_open} <= 0;
        end else begin
            if (i_set_key) phase <= INVERTS ? EXPANDS : FREE;
            else if (begins) phase <= is_ecb ? WAITS : MASKS;
            else if (o_takes) phase <= is_ctr ? FREE : OPENS;
            else if (is_last_step) phase <= phase == MASKS ? WAITS : FREE;
            left <= i_set_key || loads ? STEPS[3:0] : runs ? left - 4'd1 : 4'd0;
            is_open <= !i_set_key
                       && (o_takes ? is_ctr : is_open && !begins || phase == OPENS && is_last_step);
        end
    end

    // Blocks and round keys.
    always @(posedge i_clock) begin
        if (i_wipe) begin
            {state, mask, round_key, key_last, constant} <= 0;
        end else begin
            if (i_set_key) {round_key, constant} <= {i_key, FIRST_CONSTANT};
            else if (loads) {round_key, constant} <= {key_after_one, constant_after_one};
            else {round_key, constant} <= {next_key, next_constant};
            if (o_takes && is_ctr) state <= i_line;
            else if (loads) state <= first_block ^ first_key;
            else if (runs) state <= next_block;
            if (begins) mask <= 0;
            else if (phase == MASKS && is_last_step) mask <= made;
            if (phase == EXPANDS && is_last_step) key_last <= next_key;
        end
    end
endmodule

`default_nettype wire
