// The decompressor without its dictionary: which instruction stands in a slot of a word.
//
// Owns: what the 28 bits of a packet mean, as `crates/pack/src/code/packet.rs` draws them; how they lie in a word, as
// `crates/pack/src/target.rs` has it; and holding the word while its slots are executed. On every word and slot it says
// what `pack::chain::expand::Expander` says. Leaves the dictionary to `dictionary.v`, which is read twice in the same
// cycle, and decoding to the core: a word that is no packet, or a broken one, goes through as it is, for the core to
// execute or to trap on.
//
// Invariant: a packet is refused as a whole, in each of its slots, so that nothing of a broken one is executed.
`default_nettype none

module expander #(
    // 0 is SPARC V8, 1 is RV32IM.
    parameter TARGET = 0
) (
    input  wire        i_clock,
    // The place: the word that the cache gave, or again the one that it gave last; and which of its slots.
    input  wire [31:0] i_word,
    input  wire        i_again,
    input  wire [1:0]  i_slot,
    // The dictionary: how many entries it has, the entry of the slot, and whether that of the packet's branch is one.
    input  wire [8:0]  i_entries,
    output wire [7:0]  o_index,
    input  wire [31:0] i_entry,
    output wire [7:0]  o_branch_index,
    input  wire        i_is_branch,
    // The core: the next slot is 0 where the next word begins; illegal is a slot that the word has not.
    output wire        o_is_packet,
    output wire [2:0]  o_slots,
    output wire [31:0] o_instruction,
    output wire [1:0]  o_next_slot,
    output wire        o_is_illegal
);
    reg [31:0] held;
    wire [31:0] word = i_again ? held : i_word;

    always @(posedge i_clock) held <= word;

    // The bits of the word that a packet has for itself, and whether the others say that it is one.
    wire [27:0] payload = TARGET == 1 ? word[29:2] : {word[29:25], word[22:0]};
    wire escapes = word[31:30] == 0 && (TARGET == 1 ? word[1:0] == 2'b10 : word[24:23] == 0);

    wire is_short = payload[27];
    wire has_branch = payload[26];
    wire [1:0] tt = payload[25:24];
    wire [23:0] fields = payload[23:0];

    wire is_far = has_branch && tt == 3;
    wire is_four = is_short && !has_branch;
    wire is_three = !is_short && !has_branch;
    wire is_two_branch = !is_short && has_branch && !is_far;
    wire is_three_branch = is_short && has_branch && !is_far;

    // The index of each slot. Of format 2F, S says whether the branch comes first.
    wire [7:0] far_branch = {2'b0, fields[23:18]};
    wire [7:0] far_other = fields[17:10];
    wire [7:0] index0 = is_far ? (is_short ? far_branch : far_other) : is_short ? {2'b0, fields[23:18]} : fields[23:16];
    wire [7:0] index1 = is_far ? (is_short ? far_other : far_branch) : is_short ? {2'b0, fields[17:12]} : fields[15:8];
    wire [7:0] index2 = is_short ? {2'b0, fields[11:6]} : fields[7:0];
    wire [7:0] index3 = {2'b0, fields[5:0]};
    assign o_index = i_slot[1] ? (i_slot[0] ? index3 : index2) : i_slot[0] ? index1 : index0;

    // How many slots there are if it is a packet, and in which one its branch is.
    wire [2:0] slots = is_four ? {1'b0, tt} + 3'd1
                     : is_three ? {1'b0, tt}
                     : is_three_branch ? 3'd3
                     : is_two_branch && tt == 2 ? 3'd1 : 3'd2;
    wire [1:0] branch_slot = is_far ? {1'b0, !is_short} : is_three_branch ? tt : {1'b0, tt[0]};
    assign o_branch_index = branch_slot[1] ? index2 : branch_slot[0] ? index1 : index0;

    // Every packet has one form only: what does not count is zero.
    wire rest_is_zero = is_four ? (tt[1] || fields[11:6] == 0) && (tt == 3 || fields[5:0] == 0)
                                  && (tt != 0 || fields[17:12] == 0)
                      : is_three ? tt != 0 && (tt[1] || fields[15:8] == 0) && (tt == 3 || fields[7:0] == 0)
                      : !is_two_branch || tt != 2 || fields[15:8] == 0;
    wire has_entries = {1'b0, index0} < i_entries
                     && (slots < 2 || {1'b0, index1} < i_entries)
                     && (slots < 3 || {1'b0, index2} < i_entries)
                     && (slots < 4 || {1'b0, index3} < i_entries);
    assign o_is_packet = escapes && rest_is_zero && has_entries && (!has_branch || i_is_branch);
    assign o_slots = o_is_packet ? slots : 3'd1;

    // A distance in words, with its sign.
    wire [9:0] distance = is_far ? fields[9:0]
                        : is_short ? {{4{fields[5]}}, fields[5:0]} : {{2{fields[7]}}, fields[7:0]};
    // Of RV32 a branch is a conditional one or JAL, told from each other by bit 3.
    wire [31:0] conditional = {distance[9:3], i_entry[24:12], distance[2:0], 1'b0, distance[9], i_entry[6:0]};
    wire [31:0] jump = {distance, 1'b0, {9{distance[9]}}, i_entry[11:0]};
    wire [31:0] branch = TARGET == 1 ? (i_entry[3] ? jump : conditional) : {i_entry[31:22], {12{distance[9]}}, distance};
    wire is_branch_slot = has_branch && i_slot == branch_slot;
    assign o_instruction = o_is_packet ? (is_branch_slot ? branch : i_entry) : word;

    assign o_is_illegal = {1'b0, i_slot} >= o_slots;
    assign o_next_slot = {1'b0, i_slot} + 3'd1 < o_slots ? i_slot + 2'd1 : 2'd0;
endmodule

`default_nettype wire
