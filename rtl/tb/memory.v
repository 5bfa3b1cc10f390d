// Memory of the bare machine (`crates/isa/src/rv32/bare.rs`), which answers in the cycle in which it is asked, and the
// registers behind it.
//
// Owns: words, a port that reads, a port that reads and writes, and a port that loads an image before reset ends. What
// lies from 8000_0000 on is no memory: what is stored there goes out, and every word there reads as `i_core`.
`default_nettype none

module memory #(
    // 4 MiB.
    parameter WORD_BITS = 20
) (
    input  wire        i_clock,
    // What CSR bc0 has to be set to, or 0 where it need not.
    input  wire [31:0] i_core,
    input  wire        i_load,
    input  wire [31:0] i_load_address,
    input  wire [31:0] i_load_word,
    // Instructions.
    input  wire [31:0] i_fetch_address,
    output wire [31:0] o_fetch_word,
    // Data; bytes are written where `i_bytes` has a bit.
    input  wire        i_access,
    input  wire [31:0] i_address,
    input  wire [3:0]  i_bytes,
    input  wire [31:0] i_word,
    output wire [31:0] o_word,
    // What is stored outside.
    output wire        o_store,
    // What is accessed and is not there.
    output wire        o_is_nothing
);
    reg [31:0] words [0:(1 << WORD_BITS) - 1];

    wire is_outside = i_address[31];
    wire [WORD_BITS-1:0] at = i_address[WORD_BITS+1:2];
    wire [31:0] kept = words[at];

    assign o_fetch_word = words[i_fetch_address[WORD_BITS+1:2]];
    assign o_word = is_outside ? i_core : kept;
    assign o_store = i_access && is_outside && i_bytes != 0;
    assign o_is_nothing = i_access && !is_outside && i_address[30:WORD_BITS+2] != 0;

    always @(posedge i_clock) begin
        if (i_load) words[i_load_address[WORD_BITS+1:2]] <= i_load_word;
        else if (i_access && !is_outside && i_bytes != 0)
            words[at] <= {i_bytes[3] ? i_word[31:24] : kept[31:24], i_bytes[2] ? i_word[23:16] : kept[23:16],
                          i_bytes[1] ? i_word[15:8] : kept[15:8], i_bytes[0] ? i_word[7:0] : kept[7:0]};
    end
endmodule
