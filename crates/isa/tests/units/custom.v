// Units that only tests have, in the socket of the cores of `rtl/tb/` (its ports are told in `off/custom.v` there).
//
// Owns: what each does and how long it takes; `tests/rv32_custom.rs` has the same in Rust. One request at a time: the
// next is taken in the cycle of a result at the earliest.
`default_nettype none

module custom (
    input  wire        i_clock,
    input  wire        i_reset,
    output wire        o_is_there,
    input  wire        i_asks,
    input  wire [1:0]  i_space,
    input  wire [9:0]  i_function,
    input  wire [31:0] i_a,
    input  wire [31:0] i_b,
    output wire        o_takes,
    output wire        o_has_result,
    output wire [31:0] o_result
);
    wire [2:0] funct3 = i_function[2:0];
    wire [6:0] funct7 = i_function[9:3];

    reg [127:0] state;
    reg [31:0] kept;
    reg [2:0] left;

    wire [63:0] turned = {i_a, i_a} << i_b[4:0];
    wire [31:0] differs = i_a ^ i_b;
    wire [63:0] product = i_a * i_b;
    wire [127:0] sum = state + {64'b0, product};
    wire [31:0] word = state[32 * i_b[1:0] +: 32];

    reg [5:0] count;
    integer bit_at;
    always @* begin
        count = 0;
        for (bit_at = 0; bit_at < 32; bit_at = bit_at + 1) count = count + {5'b0, differs[bit_at]};
    end

    reg [31:0] value;
    reg [2:0] latency;
    always @* begin
        value = 0;
        latency = 0;
        case ({i_space, funct3})
            {2'd0, 3'd0}: value = turned[63:32];
            {2'd0, 3'd1}: begin value = {26'b0, count}; latency = 1; end
            {2'd0, 3'd2}: begin value = product[31:0] ^ {25'b0, funct7}; latency = 5; end
            {2'd0, 3'd3}: begin value = sum[31:0]; latency = 2; end
            {2'd0, 3'd4}: value = word;
            {2'd1, 3'd0}: value = {i_a[7:0], i_a[15:8], i_a[23:16], i_a[31:24]} + i_b;
            default: ;
        endcase
    end

    // One result in a cycle.
    wire is_free = left == 0 || left == 1 && latency != 0;
    wire begins = i_asks && is_free;

    assign o_is_there = 1;
    assign o_takes = is_free;
    assign o_has_result = left == 1 || begins && latency == 0;
    assign o_result = left == 1 ? kept : value;

    always @(posedge i_clock) begin
        if (i_reset) left <= 0;
        else if (begins) left <= latency;
        else if (left != 0) left <= left - 1;
        if (begins) kept <= value;
        if (i_reset) state <= 0;
        else if (begins && i_space == 0 && funct3 == 3) state <= sum;
    end
endmodule
