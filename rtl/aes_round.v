// A round of AES, either way (FIPS 197 sections 5.1 and 5.3).
//
// Owns: substituting, shifting and mixing a block, and adding the round's key. Byte 0 of a block is its highest; byte
// 4 c + r stands in row r of column c. Round keys are `aes_key.v`'s.
`default_nettype none

module aes_round (
    input  wire         i_inverse,
    // The tenth of AES-128, which mixes nothing.
    input  wire         i_last,
    input  wire [127:0] i_block,
    input  wire [127:0] i_key,
    output wire [127:0] o_block
);
    function [7:0] doubled(input [7:0] a);
        doubled = {a[6:0], 1'b0} ^ (8'h1b & {8{a[7]}});
    endfunction

    // A column times 3 x^3 + x^2 + x + 2.
    function [31:0] mixed(input [31:0] column_in);
        reg [7:0] a, b, c, d, all;
        begin
            {a, b, c, d} = column_in;
            all = a ^ b ^ c ^ d;
            mixed = {all ^ a ^ doubled(a ^ b), all ^ b ^ doubled(b ^ c),
                     all ^ c ^ doubled(c ^ d), all ^ d ^ doubled(d ^ a)};
        end
    endfunction

    // A column times 4 x^2 + 5: mixed behind that, it is times the inverse of what mixing is times.
    function [31:0] premixed(input [31:0] column_in);
        reg [7:0] a, b, c, d, even, odd;
        begin
            {a, b, c, d} = column_in;
            even = doubled(doubled(a ^ c));
            odd = doubled(doubled(b ^ d));
            premixed = {a ^ even, b ^ odd, c ^ even, d ^ odd};
        end
    endfunction

    // Row r is shifted by r columns, to the left, or back to the right. One mixing serves both ways: deciphering adds
    // the key before it, enciphering behind it.
    wire [127:0] substituted, shifted, blended;
    wire [127:0] keyed = shifted ^ i_key;
    genvar column, row;
    generate
        for (column = 0; column < 4; column = column + 1) begin : columns
            localparam FIRST = 127 - 32 * column;
            for (row = 0; row < 4; row = row + 1) begin : rows
                localparam HERE = FIRST - 8 * row;
                localparam LEFT = 127 - 32 * ((column + row) % 4) - 8 * row;
                localparam RIGHT = 127 - 32 * ((column + 4 - row) % 4) - 8 * row;
                aes_sbox u_sbox (
                    .i_inverse(i_inverse), .i_byte(i_block[HERE -: 8]), .o_byte(substituted[HERE -: 8])
                );
                assign shifted[HERE -: 8] = i_inverse ? substituted[RIGHT -: 8] : substituted[LEFT -: 8];
            end
            assign blended[FIRST -: 32] = mixed(i_inverse ? premixed(keyed[FIRST -: 32]) : shifted[FIRST -: 32]);
        end
    endgenerate
    assign o_block = i_last ? keyed : i_inverse ? blended : blended ^ i_key;
endmodule

`default_nettype wire
