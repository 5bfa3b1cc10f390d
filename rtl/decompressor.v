// The decompressor: between the instruction cache and the core, in one cycle.
//
// Owns: that the logic and the dictionary are together. What a word means is `expander.v`'s, what is loaded and read
// is `dictionary.v`'s.
`default_nettype none

module decompressor #(
    // 0 is SPARC V8, 1 is RV32IM.
    parameter TARGET = 0,
    // How wide the index of an entry is: 8 for 256 entries, 6 for 64.
    parameter INDEX_BITS = 8
) (
    input  wire        i_clock,
    input  wire        i_reset,
    // The dictionary, loaded when the system starts.
    input  wire        i_load,
    input  wire [7:0]  i_load_index,
    input  wire [31:0] i_load_entry,
    // The place.
    input  wire [31:0] i_word,
    input  wire        i_again,
    input  wire [1:0]  i_slot,
    // The core.
    output wire        o_is_packet,
    output wire [2:0]  o_slots,
    output wire [31:0] o_instruction,
    output wire [1:0]  o_next_slot,
    output wire        o_is_illegal
);
    wire [8:0] entries;
    wire [7:0] index, branch_index;
    wire [31:0] entry;
    wire is_branch;

    dictionary #(.TARGET(TARGET), .INDEX_BITS(INDEX_BITS)) u_dictionary (
        .i_clock(i_clock), .i_reset(i_reset),
        .i_load(i_load), .i_load_index(i_load_index), .i_load_entry(i_load_entry), .o_entries(entries),
        .i_index(index), .o_entry(entry), .i_branch_index(branch_index), .o_is_branch(is_branch)
    );

    expander #(.TARGET(TARGET)) u_expander (
        .i_clock(i_clock), .i_word(i_word), .i_again(i_again), .i_slot(i_slot),
        .i_entries(entries), .o_index(index), .i_entry(entry),
        .o_branch_index(branch_index), .i_is_branch(is_branch),
        .o_is_packet(o_is_packet), .o_slots(o_slots), .o_instruction(o_instruction),
        .o_next_slot(o_next_slot), .o_is_illegal(o_is_illegal)
    );
endmodule

`default_nettype wire
