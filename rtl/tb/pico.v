// PicoRV32 as the bare machine: fast multiplier, divider, barrel shifter, memory that answers at once, and what is in
// the socket `custom` behind its co-processor interface.
//
// Owns: the core's settings, the time since reset, and what of the core is shown to the program around it (`bench.cpp`).
// The core is its Python package's. Its instructions are told when they are taken up.
`default_nettype none

module pico (
    input  wire        i_clock,
    input  wire        i_reset,
    input  wire        i_load,
    input  wire [31:0] i_load_address,
    input  wire [31:0] i_load_word,
    // Cycles since reset, this one not among them.
    output reg  [63:0] o_cycle,
    output wire        o_store,
    output wire [31:0] o_address,
    output wire [31:0] o_word,
    output wire        o_traps,
    output wire        o_is_nothing,
    output wire        o_takes_up,
    output wire [31:0] o_pc
);
    wire valid;
    wire [31:0] read;
    wire [3:0] bytes;

    wire has_request, is_ready;
    wire [31:0] word, a, b, result;
    // custom-0 to custom-3 are 0001011, 0101011, 1011011 and 1111011.
    wire is_custom = word[4:0] == {word[6], 4'b1011};
    wire has_result, takes, is_there;
    reg is_taken;

    picorv32 #(
        .BARREL_SHIFTER(1),
        .ENABLE_PCPI(1),
        .ENABLE_FAST_MUL(1),
        .ENABLE_DIV(1)
    ) cpu (
        .clk(i_clock),
        .resetn(!i_reset),
        .trap(o_traps),
        .mem_valid(valid),
        .mem_instr(),
        .mem_ready(valid),
        .mem_addr(o_address),
        .mem_wdata(o_word),
        .mem_wstrb(bytes),
        .mem_rdata(read),
        .mem_la_read(),
        .mem_la_write(),
        .mem_la_addr(),
        .mem_la_wdata(),
        .mem_la_wstrb(),
        .pcpi_valid(has_request),
        .pcpi_insn(word),
        .pcpi_rs1(a),
        .pcpi_rs2(b),
        .pcpi_wr(is_ready),
        .pcpi_rd(result),
        .pcpi_wait(is_there && has_request && is_custom),
        .pcpi_ready(is_ready),
        .irq(0),
        .eoi(),
        .trace_valid(),
        .trace_data()
    );

    memory memory (
        .i_clock(i_clock),
        .i_core(0),
        .i_load(i_load),
        .i_load_address(i_load_address),
        .i_load_word(i_load_word),
        .i_fetch_address(0),
        .o_fetch_word(),
        .i_access(valid),
        .i_address(o_address),
        .i_bytes(bytes),
        .i_word(o_word),
        .o_word(read),
        .o_store(o_store),
        .o_is_nothing(o_is_nothing)
    );

    wire asks = has_request && is_custom && !is_taken;
    assign is_ready = has_request && is_custom && has_result;

    custom custom (
        .i_clock(i_clock),
        .i_reset(i_reset),
        .o_is_there(is_there),
        .i_asks(asks),
        .i_space(word[6:5]),
        .i_function({word[31:25], word[14:12]}),
        .i_a(a),
        .i_b(b),
        .o_takes(takes),
        .o_has_result(has_result),
        .o_result(result)
    );

    always @(posedge i_clock) begin
        o_cycle <= i_reset ? 0 : o_cycle + 1;
        is_taken <= !i_reset && has_request && !is_ready && (is_taken || asks && takes);
    end

    assign o_takes_up = !i_reset && cpu.launch_next_insn;
    assign o_pc = cpu.next_pc;
endmodule
