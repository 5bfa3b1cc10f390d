# The two commands are `make run` and `make test`. Everything else is built from them.
#   make run     the whole link on real input: node, bus, bridge, broker, server, report
#   make test    format, lints, every test, tidy; ends with the skips and their reasons
#   make soak    the long forms of the tests
#   make bench   each goal as value, peer, goal, met
#   make bless   rewrites every golden file
#   make corpus  builds the programs that pack is measured with again, for SPARC and RV32
.PHONY: run test soak bench bless corpus
.DEFAULT_GOAL := run

run:
	@scripts/install.sh run
	cargo run --release --locked -p selvedge -- run deployments/ecg.toml --out out/ecg

test:
	@scripts/install.sh test
	@scripts/test.sh

soak:
	@scripts/install.sh test
	@SELVEDGE_SOAK=1 scripts/test.sh

bench:
	@scripts/peers.sh --bring
	@scripts/bench.sh

bless:
	@scripts/install.sh test
	BLESS=1 UPDATE_EXPECT=1 cargo test --locked --workspace

corpus:
	@scripts/corpus.sh
