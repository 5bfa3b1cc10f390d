#!/usr/bin/env bash
# Synthesises the hardware of rtl/ to the cells of a 0.18 micron process, and prints areas and delays as a table, then
# as lines for scripts/bench.sh.
#   scripts/rtl.sh synth          the table and the goals
#   scripts/rtl.sh synth --csv    part,metric,value,unit for programs to read: rtl/synthesis.csv is what it printed
#
# Areas: yosys maps to the cells of osu018, and a gate equivalent is its NAND2X1. Three of that library's areas are
# mended to those of its own layouts (LEF): LATCH, NAND3X1 and OAI21X1. Delays: OpenSTA, from the inputs to the outputs,
# or between flip-flops with their setup; driven by INVX4, 0.05 pF at each output, typical process, 1.8 V, 25 degrees.
# They leave out what only a layout has: wires, the clock's skew, and the access time of a memory that is no flip-flops.
# FPGA: LUTs and flip-flops of a Virtex-II, by yosys. Xilinx' mapper counts 6 gates a LUT, 8 a flip-flop, some more for
# carries and multiplexers, which are left out here, and 65,536 a block RAM (as its reports add up).
set -euo pipefail
cd "$(dirname "$0")/.."

# What the paper prints of its own, on an FPGA: gates of the decompressor, and of the Leon.
paper_gates=6473
paper_core_gates=1923763
# A LEON2 without its memories: `less than 30 Kgates`, in 0.25 micron (Gaisler Research, product page of the LEON2).
leon2_gates=30000
# What may be added to a fetch: a cycle of 188 MHz.
delay_goal_ns=5.3

fail() {
    echo "error: $1" >&2
    exit 3
}

[ "${1:-}" = synth ] || fail "found \`${1:-}\`, expected synth"
case ${2:-} in
"" | --csv) ;;
*) fail "found \`$2\`, expected --csv" ;;
esac
for tool in yosys sta; do
    command -v "$tool" >/dev/null || fail "found no $tool; help: scripts/install.sh bench"
done
installed=$(dpkg -L qflow-tech-osu018 2>/dev/null | grep osu018_stdcells.lib) ||
    fail "found no osu018; help: scripts/install.sh bench"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
library=$scratch/osu018.lib
sed -e '/cell (LATCH)/,/area/ s/area : 0;/area : 56;/' -e '/cell (NAND3X1)/,/area/ s/area : 36;/area : 32;/' \
    -e '/cell (OAI21X1)/,/area/ s/area : 23;/area : 32;/' "$installed" >"$library"
gate=$(sed -n '/cell (NAND2X1)/,/area/ s/.*area : \([0-9.]*\);/\1/p' "$library")
printf 'set_driving_cell INVX4\nset_load 0.05 [all_outputs]\n' >"$scratch/constraints"

# What was synthesised, and with what.
rows=$scratch/rows
row() {
    echo "$1,$2,$3,$4" >>"$rows"
}

version() {
    dpkg-query -W -f '${Version}' "$1"
}
LC_ALL=C
row rtl sources "$(cat rtl/*.v scripts/rtl.sh | sha256sum | cut -d' ' -f1)" sha256
for package in yosys berkeley-abc opensta qflow-tech-osu018; do
    row "$package" version "$(version $package)" package
done

divided() {
    awk -v a="$1" -v b="$2" -v digits="$3" 'BEGIN {printf "%.*f", digits, a / b}'
}

# Commands that read the Verilog and give parameters their values: reading TOP NAME=VALUE...
reading() {
    local top=$1 parameter
    shift
    echo "read_verilog rtl/*.v"
    for parameter in "$@"; do
        echo "chparam -set ${parameter%%=*} ${parameter#*=} $top"
    done
    echo "hierarchy -check -top $top"
}

# Runs the commands that stand on its input: yosys_runs WHAT
yosys_runs() {
    cat >"$scratch/script.ys"
    if ! yosys -q "$scratch/script.ys" >"$scratch/log" 2>&1; then
        cat "$scratch/log" >&2
        fail "yosys could not do $1"
    fi
}

# Maps a module to cells for a delay in ps, as $scratch/PART.v, and says how large it is:
# mapped PART DELAY TOP NAME=VALUE...
mapped() {
    local part=$1 delay=$2 top=$3 area
    shift 3
    # yosys' own script ignores the delay: this one maps for it, and then makes cells smaller where there is time.
    printf '%s\n' strash ifraig dch "map -B 0.9 -D $delay" topo 'buffer -c' "upsize -D $delay" "dnsize -D $delay" \
        >"$scratch/fast"
    yosys_runs "$part" <<END
$(reading "$top" "$@")
synth -flatten -top $top
dfflibmap -liberty $library
abc -liberty $library -constr $scratch/constraints -script $scratch/fast
opt_clean -purge
tee -q -o $scratch/stat stat -liberty $library
splitnets -ports
opt_clean -purge
write_verilog -noattr -noexpr $scratch/$part.v
END
    area=$(sed -n 's/.*Chip area for.*: \([0-9.]*\)/\1/p' "$scratch/stat" | tail -n 1)
    row "$part" area "$(divided "$area" 1 0)" um2
    row "$part" area "$(divided "$area" "$gate" 0)" GE
}

# The bits of a module's memories, before they are anything else: bits TOP NAME=VALUE...
bits() {
    yosys_runs "the memories of $1" <<END
$(reading "$@")
flatten
proc
opt_clean
tee -q -o $scratch/stat stat
END
    sed -n 's/.*Number of memory bits: *\([0-9]*\)/\1/p' "$scratch/stat" | tail -n 1
}

# What a module takes of a Virtex-II, and that as Xilinx' mapper counts gates: fpga PART TOP NAME=VALUE...
fpga() {
    local part=$1 top=$2 luts flops
    shift 2
    yosys_runs "$part for an FPGA" <<END
$(reading "$top" "$@")
synth_xilinx -family xc2v -flatten -noiopad -noclkbuf -nowidelut -top $top
tee -q -o $scratch/stat stat
END
    luts=$(awk '$1 ~ /^(LUT[1-4]|INV)$/ {n += $2} END {print n + 0}' "$scratch/stat")
    flops=$(awk '$1 ~ /^FD/ {n += $2} END {print n + 0}' "$scratch/stat")
    row "$part" fpga_luts "$luts" LUT4
    row "$part" fpga_flip_flops "$flops" FF
    row "$part" fpga_area $((6 * luts + 8 * flops)) gates
}

# The longest path of a part, in ns, of those that arguments of report_checks select: longest PART TOP [ARGUMENTS]
longest() {
    cat >"$scratch/script.tcl" <<END
read_liberty $library
read_verilog $scratch/$1.v
link_design $2
create_clock -name clock -period 100 [get_ports i_clock]
set inputs {}
foreach port [all_inputs] {
    if {[get_property \$port full_name] ne "i_clock"} { lappend inputs \$port }
}
set_input_delay 0 -clock clock \$inputs
set_output_delay 0 -clock clock [all_outputs]
set_driving_cell -lib_cell INVX4 \$inputs
set_load 0.05 [all_outputs]
report_checks -path_delay max ${3:-} -format full -digits 3
exit
END
    # With a period of 100 ns, what the slack lacks of it is the path with the setup at its end.
    if ! sta -no_splash -exit "$scratch/script.tcl" >"$scratch/log" 2>&1 || ! awk '
        $2 == "slack" {printf "%.2f", 100 - $1; found = 1; exit} END {exit !found}' "$scratch/log"; then
        cat "$scratch/log" >&2
        fail "sta found no path in $1"
    fi
}

# The decompressor's logic, with the word that it holds, between a cache and a core, and a memory beside it.
place='-from [get_ports {i_word* i_again i_slot*}]'
for target in 0=sparc 1=rv32; do
    part=expander-${target#*=}
    mapped "$part" 2000 expander "TARGET=${target%%=*}"
    index=$(longest "$part" expander "$place -to [get_ports {o_index* o_branch_index*}]")
    entry=$(longest "$part" expander '-from [get_ports {i_entry* i_is_branch}] -to [get_ports o_*]')
    row "$part" index_delay "$index" ns
    row "$part" entry_delay "$entry" ns
    # What the two leave of a cycle to the access of the memory. 8 Kbit in 0.18 micron are published with 0.85 ns (G. M.
    # Sreerama Reddy and P. Chandrasekhara Reddy, 8K-bits low power SRAM in 180nm technology).
    row "$part" memory_delay_max "$(awk "BEGIN {printf \"%.2f\", $delay_goal_ns - $index - $entry}")" ns
    fpga "$part" expander "TARGET=${target%%=*}"
done

# The dictionary as bits of a memory, and all of it with flip-flops, which need no memory beside them.
for index_bits in 8 6; do
    entries=$((1 << index_bits))
    memory=$(bits dictionary INDEX_BITS=$index_bits)
    row "dictionary-$entries" memory "$memory" bits
    mapped "dictionary-$entries" 3000 dictionary INDEX_BITS=$index_bits
    part=decompressor-sparc-$entries
    mapped "$part" 5300 decompressor TARGET=0 INDEX_BITS=$index_bits
    delay=$(longest "$part" decompressor "$place -to [get_ports o_*]")
    row "$part" fetch_delay "$delay" ns
    # From anywhere: what is held and what the dictionary has are flip-flops.
    delay=$(longest "$part" decompressor '-to [get_ports o_*]')
    row "$part" output_delay "$delay" ns
done

# The decipher with every seal, with one each, and with those that only add.
for seals in all=63 ecb=1 xts=2 ctr=60; do
    part=decipher-${seals%%=*}
    mapped "$part" 5300 decipher "SEALS=${seals#*=}"
    period=$(longest "$part" decipher)
    row "$part" period "$period" ns
done

value() {
    awk -F, -v part="$1" -v metric="$2" -v unit="$3" '$1 == part && $2 == metric && $4 == unit {print $3}' "$rows"
}
share() {
    awk -v a="$1" -v b="$2" 'BEGIN {printf "%.2f", 100 * a / b}'
}
# The logic against the cores without their memories; the FPGA's gates against the paper's, with theirs.
logic=$(value expander-sparc area GE)
gates=$(value expander-sparc fpga_area gates)
row expander-sparc share_of_leon2_logic "$(share "$logic" $leon2_gates)" %
row expander-sparc share_of_paper_core "$(share "$gates" $paper_core_gates)" %
row paper fpga_area $paper_gates gates
row paper core_fpga_area $paper_core_gates gates
row paper share_of_paper_core "$(share $paper_gates $paper_core_gates)" %

if [ "${2:-}" = --csv ]; then
    echo part,metric,value,unit
    cat "$rows"
    exit
fi
awk -F, '{printf "%-24s %-22s %10s %s\n", $1, $2, $3, $4}' "$rows"
goal() {
    printf 'goal\t%s\t%s\t%s\t%s\t<= %s\n' "$@"
}
goal "delay of the decompressor in a fetch, 256 entries in flip-flops, ns" \
    "$(value decompressor-sparc-256 fetch_delay ns)" - - $delay_goal_ns
goal "the same from what is held or in the dictionary, ns" \
    "$(value decompressor-sparc-256 output_delay ns)" - - $delay_goal_ns
goal "decompressor without dictionary, FPGA gates" "$gates" "the paper's" $paper_gates $paper_gates
goal "the same, % of the paper's Leon" "$(value expander-sparc share_of_paper_core %)" "the paper's" \
    "$(value paper share_of_paper_core %)" "$(value paper share_of_paper_core %)"
