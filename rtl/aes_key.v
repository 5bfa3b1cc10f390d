// The round key of AES-128 behind another one, or the one before it (FIPS 197 section 5.2).
//
// Owns: one step of the key expansion, both ways, so that no round key need be kept. A word's first byte is its
// highest.
`default_nettype none

module aes_key (
    input  wire         i_inverse,
    input  wire [127:0] i_key,
    output wire [127:0] o_key,
    // The round constant of the later one of the two keys; and that of the next step.
    input  wire [7:0]   i_constant,
    output wire [7:0]   o_constant
);
    wire [31:0] word0, word1, word2, word3;
    assign {word0, word1, word2, word3} = i_key;
    // The words of the key before, but for the first.
    wire [31:0] back1 = word1 ^ word0;
    wire [31:0] back2 = word2 ^ word1;
    wire [31:0] back3 = word3 ^ word2;

    // Either way the first word takes the earlier key's last one, turned by a byte and substituted.
    wire [31:0] last = i_inverse ? back3 : word3;
    wire [31:0] turned = {last[23:0], last[31:24]};
    wire [31:0] taken;
    genvar row;
    generate
        for (row = 0; row < 4; row = row + 1) begin : rows
            aes_sbox u_sbox (.i_inverse(1'b0), .i_byte(turned[8 * row +: 8]), .o_byte(taken[8 * row +: 8]));
        end
    endgenerate
    wire [31:0] first = word0 ^ taken ^ {i_constant, 24'b0};
    wire [31:0] on1 = word1 ^ first;
    wire [31:0] on2 = word2 ^ on1;
    wire [31:0] on3 = word3 ^ on2;
    assign o_key = i_inverse ? {first, back1, back2, back3} : {first, on1, on2, on3};

    // The next power of x in GF(2^8), or the one before.
    wire [7:0] doubled = {i_constant[6:0], 1'b0} ^ (8'h1b & {8{i_constant[7]}});
    wire [7:0] halved = {1'b0, i_constant[7:1]} ^ (8'h8d & {8{i_constant[0]}});
    assign o_constant = i_inverse ? halved : doubled;
endmodule

`default_nettype wire
