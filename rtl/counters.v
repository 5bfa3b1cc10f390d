// The blocks that are enciphered for the address of a line, and how what comes out is added to memory.
//
// Owns: the layouts of counters, each as the head of its file in `crates/pack/src/seal/` draws it, and the tweak of
// XTS. Seals have the numbers of `SEALS` there. Byte 0 of a block is its highest, and so is byte 0 of a container's
// start.
`default_nettype none

module counters (
    input  wire [2:0]   i_seal,
    input  wire [95:0]  i_start,
    // The address of the line without the four zeros at its end.
    input  wire [27:0]  i_number,
    output wire [127:0] o_counter,
    // What AES made of it, and that as it is added to the line.
    input  wire [127:0] i_block,
    output reg  [127:0] o_mask
);
    localparam [2:0] XTS = 1, OTFDEC = 2, OTFAD = 3, OTFAD_SWAPPED = 4;

    wire [31:0] address = {i_number, 4'b0};
    wire [31:0] address_turned = {address[7:0], address[15:8], address[23:16], address[31:24]};
    wire [31:0] number_turned = {i_number[7:0], i_number[15:8], i_number[23:16], 4'b0, i_number[27:24]};

    // Of OTFDEC's start, bytes 8 and 9 are the version, the lower one first, and byte 10 is the region.
    wire [127:0] otfdec = {i_start[95:32], 16'b0, i_start[23:16], i_start[31:24], 2'b0, i_start[9:8], i_number};
    wire [127:0] otfad = {i_start[95:32], i_start[95:64] ^ i_start[63:32], address};
    wire [127:0] mcuboot = {address_turned, i_start};

    assign o_counter = i_seal == XTS ? {number_turned, 96'b0}
                     : i_seal == OTFDEC ? otfdec
                     : i_seal == OTFAD || i_seal == OTFAD_SWAPPED ? otfad : mcuboot;

    // OTFDEC adds the lowest byte to the lowest address; swapped, OTFAD does so by halves.
    integer at;
    always @* begin
        for (at = 0; at < 16; at = at + 1) begin
            o_mask[8 * at +: 8] = i_seal == OTFDEC ? i_block[8 * (15 - at) +: 8]
                                : i_seal == OTFAD_SWAPPED ? i_block[8 * (at ^ 7) +: 8] : i_block[8 * at +: 8];
        end
    end
endmodule

`default_nettype wire
