// The socket for instructions of one's own, with nothing in it: a bench that has a unit finds a module of this name and
// these ports elsewhere, and takes that.
//
// Owns: the ports. A request stands from `i_asks` until a cycle with `o_takes`; the result is there with `o_has_result`, in
// that cycle or later, for one cycle. The next request may stand before: it is not to be taken before the cycle of the
// result, or in it if its own result would be there at once. On `pico` it comes only later. `o_takes` does not wait for
// `i_asks`: VexRiscv asks again, wrongly, when it has not seen it between two requests.
`default_nettype none

module custom (
    input  wire        i_clock,
    input  wire        i_reset,
    // Whether there is a unit at all; constant.
    output wire        o_is_there,
    input  wire        i_asks,
    // custom-0 to custom-3.
    input  wire [1:0]  i_space,
    // funct7 and funct3.
    input  wire [9:0]  i_function,
    input  wire [31:0] i_a,
    input  wire [31:0] i_b,
    output wire        o_takes,
    output wire        o_has_result,
    output wire [31:0] o_result
);
    assign o_is_there = 0;
    assign o_takes = 0;
    assign o_has_result = 0;
    assign o_result = 0;

    wire _unused = &{i_clock, i_reset, i_asks, i_space, i_function, i_a, i_b};
endmodule
