# The targets of the project. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
# Tests that run only where they are named.
SLOW_TESTS := pcap docs report e2e
.PHONY: help setup build demo knot pcbb fleet fabric check privileges test lint unit loom e2e report pcap documents docs pictures references record-pcap fuzz sonic-corpus compare sim-fuzz lldp-fuzz hunt hunt-levels soak bench-line bench-tagger bench-netsim bench-neighbor bench-papers bench-tagger-runtime bench-rule-count bench-scrape bench-before bench-capture bench-fleet bench-fib bench-fpm bench-reconfiguration bench-pause bench-overload bench test-restart test-sonic test-parity test-campaign test-debian13 test-guest package test-package image test-rxe bench-roce bench-congestion bench-collectives bench-htsim study

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

setup: ## install what is missing (Debian 12, as root)
	@scripts/setup.sh

build: setup ## build the release binary, target/release/knotless
	cargo build --release --locked -p knotless-switch

demo: build ## three hosts, one paced port, lossless and lossy streams: watch nothing get lost
	@/usr/bin/python3 scripts/demo

knot: build ## a real PFC deadlock of three switches, and the rules that untie it: half a minute
	@/usr/bin/python3 scripts/knot

pcbb: build ## SONiC's dual-ToR deadlock of bounced frames, and its remapping that prevents it: a minute
	@/usr/bin/python3 scripts/pcbb

fleet: build ## three members of etcd, eight switches with lossless traffic, proven rollouts, failures: two minutes
	@scripts/setup.sh
	@/usr/bin/python3 scripts/fleet

fabric: build ## four leaves and two spines that FRR drives: sessions, a flood, a spine killed and back: two minutes; make fabric DEBIAN=13
	@scripts/setup.sh frr
ifdef DEBIAN
	@scripts/debian_root.sh make $(DEBIAN) $(CURDIR)/target/debian$(DEBIAN)/frr ca-certificates
	@scripts/debian_root.sh enter $(CURDIR)/target/debian$(DEBIAN)/frr sh -c \
	  'test -x /usr/lib/frr/zebra || apt-get install -y -qq --no-install-recommends frr >/var/log/frr-install.log'
	@FABRIC_ROOT=$(CURDIR)/target/debian$(DEBIAN)/frr /usr/bin/python3 scripts/fabric
else
	@/usr/bin/python3 scripts/fabric
endif

# As anybody: the few tests that need root then say that they are skipped.
check: export KNOTLESS_SKIP_ROOT = 1
check: lint unit ## lint and unit tests, for a change at hand; no root

# Asked before anything is built.
privileges:
	@scripts/privileges.sh $(or $(firstword $(MAKECMDGOALS)),test)

test: privileges build lint unit loom pcap documents report e2e ## everything that must hold (root; KNOTLESS_SKIP_ROOT=1 skips what needs it)

lint: setup ## rustfmt and clippy, warnings are errors
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy --workspace $(SLOW_TESTS:%=--test %) --locked -- -D warnings

unit: setup ## unit, property and in-process tests of every crate
	cargo test --workspace --locked
	/usr/bin/python3 -m unittest discover -s bench/line

test-sonic: setup ## SONiC's tests of QoS and of the PFC watchdog, as far as a software switch can have them (part of `make unit`)
	cargo test -p knotless-tests --locked --test sonic

loom: setup ## what crosses workers, under every order of loads and stores
	RUSTFLAGS="--cfg loom" cargo test -p knotless-dataplane --locked --lib --target-dir target/loom -- buffer::ledger buffer::parts handoff::grants handoff::pauses

pcap: build ## pcap regressions through the real binary
	KNOTLESS_PROFILE=release cargo test --workspace --locked --test pcap

documents: build ## links, commands and examples of the documents, and the references against the code
	KNOTLESS_PROFILE=release cargo test --workspace --locked --test docs

docs: documents ## the book as HTML, target/book/index.html
	@/usr/bin/python3 scripts/book.py

pictures: build ## the pictures of the documents, from what the program shows
	@scripts/setup.sh graphviz tmux asciinema python3-rich chromium
	@/usr/bin/python3 scripts/pictures $(PICTURES)

references: setup ## write the book's references from the code
	KNOTLESS_WRITE=1 cargo test -q --workspace --locked --lib -- the_metrics_are
	KNOTLESS_WRITE=1 cargo test -q --workspace --locked --test docs -- the_references

record-pcap: build ## re-record a pcap case for review: make record-pcap CASE=name
	KNOTLESS_RECORD=$(CASE) cargo test --workspace --locked --test pcap -- --nocapture
	git diff --stat -- tests/pcap

e2e: privileges build ## real processes in network namespaces (root)
	KNOTLESS_PROFILE=release cargo test --workspace --locked --test e2e -- --nocapture --test-threads=1

test-restart: privileges build ## a hundred restarts under load: make test-restart RESTARTS=100 (root)
	KNOTLESS_RESTARTS=$(or $(RESTARTS),100) KNOTLESS_PROFILE=release cargo test --workspace --locked --test e2e -- --nocapture restart::

test-parity: privileges build ## twenty configurations, recorded of the switch and of the emulator, each replayed in the other (root)
	KNOTLESS_PARITY=all KNOTLESS_PROFILE=release cargo test --workspace --locked --test e2e -- --nocapture --test-threads=1 parity::

test-campaign: build ## 1,000 simulations on a Slurm of this machine, killed and resumed: make test-campaign RUNS=1000 SHARDS=8 (root)
	@scripts/setup.sh slurmctld slurmd slurm-client munge
	@/usr/bin/python3 scripts/campaign_slurm --runs $(or $(RUNS),1000) --shards $(or $(SHARDS),8)

test-debian13: setup ## build, struct layout and pcap regressions against DPDK 24.11, in a root of Debian 13 (root; makes it once, about 1 GB)
	@scripts/debian13.sh

package: setup ## Debian packages: make package RELEASES="12 13" (another release than this machine's as root)
	@scripts/package.sh $(RELEASES)

image: package ## the container image localhost/knotless, from the package of Debian 12 (root)
	@scripts/image.sh

test-package: ## the packages on fresh machines of each release: installed, forwarding, upgraded under load, removed: make test-package RELEASES="12 13" (root)
	@scripts/test_package.sh $(RELEASES)

test-guest: privileges build ## the switch on virtio-net, e1000, e1000e and vmxnet3 NICs of a QEMU guest (root): make test-guest NICS=e1000e
	@scripts/setup.sh qemu-system-x86 busybox-static
	@/usr/bin/python3 scripts/guest $(NICS)

test-rxe: privileges build ## Linux's soft-RoCE in two QEMU guests, through the switch and against knotless roce (root)
	@scripts/setup.sh qemu-system-x86 busybox-static perftest rdmacm-utils ibverbs-utils
	@/usr/bin/python3 scripts/roce

bench-roce: privileges build ## eight RoCE senders to one receiver on taps: without congestion control, with DCQCN, with HPCC (root)
	@/usr/bin/python3 bench/roce/incast.py

report: setup ## the page of a simulation, as a browser shows it (installs Chromium)
	@scripts/setup.sh chromium
	cargo test --workspace --locked --test report

fuzz: setup ## fuzz one target: make fuzz TARGET=worker_ops SECONDS=60
	@scripts/fuzz.sh "$(TARGET)" $(or $(SECONDS),60)

sonic-corpus: ## import the real databases of SONiC that are in a folder, by the manifest: make sonic-corpus FOLDER=sonic-files
	KNOTLESS_SONIC_CORPUS="$(abspath $(FOLDER))" cargo test -p knotless-config --locked --test sonic_corpus -- --nocapture

compare: build ## the ways out of a deadlock side by side, under the same failures
	@target/release/knotless compare netsim/scenarios/compare/*.toml

sim-fuzz: setup ## random networks, traffic and faults: PFC deadlocks, no safe scheme ever: make sim-fuzz SECONDS=60 SEED=1 SHARD=1/4
	cargo run --release --locked -p knotless-bench --bin sim-fuzz -- --seconds $(or $(SECONDS),60) \
		$(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT)) $(if $(SHARD),--shard $(SHARD))

lldp-fuzz: setup ## networks that start and fail at random: levels learned, the compiler's rules: make lldp-fuzz COUNT=1000
	KNOTLESS_SEEDS=$(or $(COUNT),1000) cargo test --release --locked -p knotless-fabric --test levels -- --nocapture learning
	KNOTLESS_SEEDS=$(or $(COUNT),1000) cargo test --release --locked -p knotless-netsim --test scenarios -- --nocapture levels_are

# The old names of the two.
hunt:
	@echo "make hunt: the name is now make sim-fuzz"
	@$(MAKE) --no-print-directory sim-fuzz; status=$$?; \
		cp -f target/bench/sim-fuzz.json target/bench/hunt.json 2>/dev/null; exit $$status

hunt-levels:
	@echo "make hunt-levels: the name is now make lldp-fuzz"
	@$(MAKE) --no-print-directory lldp-fuzz

soak: build ## an hour at full rate, everything on: nothing grows, every buffer comes back: make soak MINUTES=60
	@/usr/bin/python3 bench/line/soak.py --minutes $(or $(MINUTES),60)

bench-line: build ## beside testpmd and OVS-DPDK on one core, in one run: make bench-line FRAMES=imix
	@scripts/setup.sh openvswitch-switch-dpdk
	cargo bench -p knotless-bench --bench congested --bench growth --bench reaction --bench latency
	@/usr/bin/python3 bench/line/line.py --frames $(or $(FRAMES),64)

bench-pause: setup ## how long all workers of a port take to obey a PAUSE
	cargo bench -p knotless-bench --bench pause_workers

bench-overload: setup ## every receive queue of two workers overloaded, every frame accounted for: make bench-overload MINUTES=10
	cargo run --release --locked -p knotless-bench --bin bench-overload -- --minutes $(or $(MINUTES),10)

bench-tagger: setup ## the Tagger paper's figures beside ours, every row proven: make bench-tagger SHARD=1/4
	cargo run --release --locked -p knotless-bench --bin bench-tagger -- $(if $(SHARD),--shard $(SHARD))

bench-netsim: setup ## packet-hops a second of the emulator, from 16 to 1,024 hosts, with memory
	cargo run --release --locked -p knotless-bench --bin bench-netsim

bench-congestion: setup ## DCQCN against its paper's fluid model, HPCC against its simulator, each congestion control in an incast
	cargo run --release --locked -p knotless-netsim --example congestion

study: build ## RoCE after failures: PFC, tags, TTL, GFC and none, with and without DCQCN and HPCC, as a page
	rm -rf target/study
	target/release/knotless campaign config/examples/campaigns/study-campaign.toml --out target/study
	target/release/knotless campaign merge target/study

bench-htsim: build ## the emulator beside htsim: make bench-htsim HTSIM=FOLDER/htsim_roce
	@/usr/bin/python3 bench/emulator/htsim.py $(HTSIM)

bench-collectives: setup ## collectives of 1,024 ranks in the emulator, with their time and memory
	cargo run --release --locked -p knotless-bench --bin bench-collectives

bench-neighbor: setup ## what a hostile LLDP neighbor costs the data path
	cargo bench -p knotless-bench --bench neighbor

bench-tagger-runtime: setup ## run time of the Tagger paper's algorithms from 100 to 10,000 switches: make bench-tagger-runtime BUDGET=1200
	cargo run --release --locked -p knotless-bench --bin bench-tagger-runtime -- --budget $(or $(BUDGET),1200)

bench-fib: setup ## a table of 1,000,000 routes: lookups, memory, what a change costs
	cargo bench -q -p knotless-dataplane --locked --bench fib_changes

bench-fpm: privileges build ## 200,000 routes of BGP by FPM beside the kernel's, and 5,000 changes a second under traffic (root)
	@/usr/bin/python3 bench/fpm/bgp.py --seconds $(or $(SECONDS),60)

bench-rule-count: build ## throughput and latency of the switch with 0 to 4,096 rules
	@/usr/bin/python3 bench/line/rule_count.py --rounds $(or $(ROUNDS),7)

bench-scrape: build ## throughput of the switch while its metrics are read 100 times a second: make bench-scrape MINUTES=10
	@/usr/bin/python3 bench/line/scrape.py --minutes $(or $(MINUTES),10)

bench-before: build ## throughput of the switch beside another version's program: make bench-before BEFORE=PROGRAM KIND=congested
	@/usr/bin/python3 bench/line/before.py $(BEFORE) --starts $(or $(STARTS),14) --kind $(or $(KIND),ipv4)

bench-capture: build ## throughput of the switch without a capture, and with a filter that matches one flow of 1,000: make bench-capture MINUTES=10
	@/usr/bin/python3 bench/line/capture.py --minutes $(or $(MINUTES),10) $(if $(BEFORE),--before $(BEFORE))

bench-fleet: ## ten thousand agents of the fleet against three members of etcd: make bench-fleet AGENTS=10000
	@scripts/setup.sh
	cargo bench -q -p knotless-fleet --locked --bench agents -- --agents $(or $(AGENTS),10000)

# The table reads what the long ones write: what of that fails is a row that fails.
bench-papers: setup ## every theorem, table and figure of the five papers in one table, with a page
	-@$(MAKE) --no-print-directory bench-tagger
	-@$(MAKE) --no-print-directory bench-tagger-runtime BUDGET=$(or $(BUDGET),60)
	-@$(MAKE) --no-print-directory bench-rule-count
	-@$(MAKE) --no-print-directory bench-reconfiguration
	cargo run --release --locked -p knotless-bench --bin bench-papers

bench-reconfiguration: setup ## changing routes after failures: removing all first, the paper's rule, ours; table and plot: make bench-reconfiguration SHARD=1/4
	cargo run --release --locked -p knotless-bench --bin bench-reconfiguration -- $(if $(SHARD),--shard $(SHARD))

bench: ## criterion benches of the parts
	cargo bench -p knotless-bench
