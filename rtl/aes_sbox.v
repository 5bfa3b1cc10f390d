// The substitution of AES, one byte, either way (FIPS 197 sections 5.1.1 and 5.3.2).
//
// Owns: inversion in GF(2^8) as inversion in GF((2^4)^2), between changes of basis that have the affine maps in them.
// No table is read, so that no time depends on a byte.
//
// The tower: GF(2^4) is the polynomials in z modulo z^4 + z + 1, GF(2^8) those in y over it modulo y^2 + y + z^3. A
// byte of AES is taken over by the root 20 of x^8 + x^4 + x^3 + x + 1, the one whose matrices have the fewest ones; in
// a matrix each byte is a row, the last for bit 0. NIST's vectors stand behind them (`crates/pack/tests/rtl.rs`).
`default_nettype none

module aes_sbox (
    input  wire       i_inverse,
    input  wire [7:0] i_byte,
    output wire [7:0] o_byte
);
    // Into the tower, as it is and behind the inverse affine map; and out of it, before the affine map and as it is.
    localparam [63:0] IN = 64'ha0ac_d270_18fc_04a1;
    localparam [63:0] IN_INVERSE = 64'hc671_78f7_6f12_9262;
    localparam [63:0] OUT = 64'h06d0_ee3b_2569_3f45;
    localparam [63:0] OUT_INVERSE = 64'hd48e_54ca_c202_b081;
    // What the affine map adds.
    localparam [7:0] AFFINE = 8'h63;

    function [7:0] times(input [63:0] matrix, input [7:0] byte_in);
        integer at;
        for (at = 0; at < 8; at = at + 1) times[at] = ^(matrix[8 * at +: 8] & byte_in);
    endfunction

    // Products of GF(2^4).
    function [3:0] product(input [3:0] a, input [3:0] b);
        reg [6:0] wide;
        begin
            wide = ({3'b0, a} & {7{b[0]}}) ^ ({2'b0, a, 1'b0} & {7{b[1]}})
                 ^ ({1'b0, a, 2'b0} & {7{b[2]}}) ^ ({a, 3'b0} & {7{b[3]}});
            product = {wide[3] ^ wide[6], wide[2] ^ wide[5] ^ wide[6], wide[1] ^ wide[4] ^ wide[5], wide[0] ^ wide[4]};
        end
    endfunction

    // Inverses of GF(2^4), 0 for 0.
    function [3:0] inverse(input [3:0] a);
        case (a)
            4'h0: inverse = 4'h0;
            4'h1: inverse = 4'h1;
            4'h2: inverse = 4'h9;
            4'h3: inverse = 4'he;
            4'h4: inverse = 4'hd;
            4'h5: inverse = 4'hb;
            4'h6: inverse = 4'h7;
            4'h7: inverse = 4'h6;
            4'h8: inverse = 4'hf;
            4'h9: inverse = 4'h2;
            4'ha: inverse = 4'hc;
            4'hb: inverse = 4'h5;
            4'hc: inverse = 4'ha;
            4'hd: inverse = 4'h4;
            4'he: inverse = 4'h3;
            4'hf: inverse = 4'h8;
        endcase
    endfunction

    // h y + l; its norm is z^3 h^2 + h l + l^2, and its inverse (h y + h + l) / norm.
    wire [7:0] tower = i_inverse ? times(IN_INVERSE, i_byte ^ AFFINE) : times(IN, i_byte);
    wire [3:0] high = tower[7:4];
    wire [3:0] low = tower[3:0];
    wire [3:0] norm = product(product(high, high), 4'h8) ^ product(low, high ^ low);
    wire [3:0] divisor = inverse(norm);
    wire [7:0] inverted = {product(high, divisor), product(high ^ low, divisor)};

    assign o_byte = i_inverse ? times(OUT_INVERSE, inverted) : times(OUT, inverted) ^ AFFINE;
endmodule

`default_nettype wire
