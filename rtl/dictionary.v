// The instructions that packets name, and which of them are branches.
//
// Owns: two memories, of 32 bits and of one bit an entry, both read in the cycle in which an index comes; and loading
// them, entry by entry from the first on, when the system starts. What an index means is `expander.v`'s.
//
// The mark of a branch follows from its entry, but in a memory of its own it is read for the packet's branch while the
// entry is read for the slot: a packet with a distance for what is no branch is known to be broken in its first slot.
`default_nettype none

module dictionary #(
    // 0 is SPARC V8, 1 is RV32IM.
    parameter TARGET = 0,
    // How wide the index of an entry is: 8 for 256 entries, 6 for 64.
    parameter INDEX_BITS = 8
) (
    input  wire        i_clock,
    // No entry is in it.
    input  wire        i_reset,
    // The upper bits of an index say nothing where there are fewer entries.
    // verilator lint_off UNUSED
    // An entry is written, behind those before: the last one that was written is the last that there is.
    input  wire        i_load,
    input  wire [7:0]  i_load_index,
    input  wire [31:0] i_load_entry,
    output reg  [8:0]  o_entries,
    // What is read. Behind the last entry it is any.
    input  wire [7:0]  i_index,
    output wire [31:0] o_entry,
    input  wire [7:0]  i_branch_index,
    output wire        o_is_branch
    // verilator lint_on UNUSED
);
    reg [31:0] entries [0:(1 << INDEX_BITS) - 1];
    reg        marks   [0:(1 << INDEX_BITS) - 1];

    // Bicc; the conditional branches of RV32, and JAL.
    wire is_branch = TARGET == 1 ? i_load_entry[6:0] == 7'b1100011 || i_load_entry[6:0] == 7'b1101111
                                 : i_load_entry[31:30] == 0 && i_load_entry[24:22] == 3'b010;
    wire [INDEX_BITS-1:0] load_index = i_load_index[INDEX_BITS-1:0];

    always @(posedge i_clock) begin
        if (i_reset) o_entries <= 0;
        else if (i_load) o_entries <= {1'b0, i_load_index} + 9'd1;
        if (i_load) begin
            entries[load_index] <= i_load_entry;
            marks[load_index] <= is_branch;
        end
    end

    assign o_entry = entries[i_index[INDEX_BITS-1:0]];
    assign o_is_branch = marks[i_branch_index[INDEX_BITS-1:0]];
endmodule

`default_nettype wire
