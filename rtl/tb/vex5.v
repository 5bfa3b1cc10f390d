// VexRiscv with five stages and two caches of 4 KiB as the bare machine: memories that answer at once, one for
// instructions and one for data with the same words in it, and what is in the socket `custom` behind its interface for
// custom functions, which has custom-0 only.
//
// Owns: the time since reset, and what of the core is shown to the program around it (`bench.cpp`). The core is its
// Python package's. Its instructions are told when they leave the last stage.
`default_nettype none

module vex5 (
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
    wire fetches, accesses, writes;
    wire [29:0] fetch_at, access_at;
    wire [31:0] fetched, read;
    wire [3:0] bytes;

    wire asks, takes, has_result, is_there, takes_result;
    wire [9:0] called;
    wire [31:0] a, b, result;
    // A result that came when the core still had the one before.
    reg is_kept;
    reg [31:0] kept;

    assign o_address = {access_at, 2'b00};

    VexRiscv cpu (
        .externalResetVector(0),
        .timerInterrupt(0),
        .softwareInterrupt(0),
        .externalInterruptArray(0),
        .CfuPlugin_bus_cmd_valid(asks),
        .CfuPlugin_bus_cmd_ready(takes),
        .CfuPlugin_bus_cmd_payload_function_id(called),
        .CfuPlugin_bus_cmd_payload_inputs_0(a),
        .CfuPlugin_bus_cmd_payload_inputs_1(b),
        .CfuPlugin_bus_rsp_valid(has_result || is_kept),
        .CfuPlugin_bus_rsp_ready(takes_result),
        .CfuPlugin_bus_rsp_payload_outputs_0(is_kept ? kept : result),
        .iBusWishbone_CYC(),
        .iBusWishbone_STB(fetches),
        .iBusWishbone_ACK(fetches),
        .iBusWishbone_WE(),
        .iBusWishbone_ADR(fetch_at),
        .iBusWishbone_DAT_MISO(fetched),
        .iBusWishbone_DAT_MOSI(),
        .iBusWishbone_SEL(),
        .iBusWishbone_ERR(0),
        .iBusWishbone_CTI(),
        .iBusWishbone_BTE(),
        .dBusWishbone_CYC(),
        .dBusWishbone_STB(accesses),
        .dBusWishbone_ACK(accesses),
        .dBusWishbone_WE(writes),
        .dBusWishbone_ADR(access_at),
        .dBusWishbone_DAT_MISO(read),
        .dBusWishbone_DAT_MOSI(o_word),
        .dBusWishbone_SEL(bytes),
        .dBusWishbone_ERR(0),
        .dBusWishbone_CTI(),
        .dBusWishbone_BTE(),
        .clk(i_clock),
        .reset(i_reset)
    );

    memory memory (
        .i_clock(i_clock),
        .i_core(is_there ? 32'h8000_0000 : 0),
        .i_load(i_load),
        .i_load_address(i_load_address),
        .i_load_word(i_load_word),
        .i_fetch_address({fetch_at, 2'b00}),
        .o_fetch_word(fetched),
        .i_access(accesses),
        .i_address(o_address),
        .i_bytes(writes ? bytes : 4'b0),
        .i_word(o_word),
        .o_word(read),
        .o_store(o_store),
        .o_is_nothing(o_is_nothing)
    );

    custom custom (
        .i_clock(i_clock),
        .i_reset(i_reset),
        .o_is_there(is_there),
        .i_asks(asks),
        .i_space(0),
        .i_function(called),
        .i_a(a),
        .i_b(b),
        .o_takes(takes),
        .o_has_result(has_result),
        .o_result(result)
    );

    always @(posedge i_clock) begin
        o_cycle <= i_reset ? 0 : o_cycle + 1;
        if (has_result) kept <= result;
        is_kept <= !i_reset && (is_kept ? has_result || !takes_result : has_result && !takes_result);
    end

    assign o_traps = !i_reset && cpu.CsrPlugin_hadException;
    assign o_takes_up = !i_reset && cpu.lastStageIsFiring;
    assign o_pc = cpu.lastStagePc;
endmodule
