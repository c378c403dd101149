# bpfrun: what a maintainer types. CI runs .ci/run, which uses the same commands.

GO ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
CORPUS ?= corpus
TOOLCHAIN ?= toolchain
FUZZTIME ?= 10s
ARCHES := linux/amd64 linux/arm64 linux/386 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64 js/wasm

build:
	CGO_ENABLED=0 $(GO) build -trimpath -o bpfrun ./cmd/bpfrun

test:
	$(GO) test ./...

# The cases of tests that every change must pass: go test ./... has a sample of them.
test-wide:
	BPFRUN_WIDE=1 $(GO) test ./...

# Tests that take a sample of their cases take all of them (internal/testing/testsize).
LONG = $$($(GO) list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | awk '/internal\/testing\/testsize/ {print $$1}')
test-long:
	BPFRUN_LONG=1 $(GO) test -timeout 30m $(LONG)

vet:
	$(GO) vet ./...

lint: vet
	@out=$$(gofmt -l .); [ -z "$$out" ] || { echo "gofmt needed:"; echo "$$out"; exit 1; }
	$(GO) run $(STATICCHECK) ./...

# Packages in which goroutines run (scripts/suite).
race:
	$(GO) test -race -short $$($(GO) run ./scripts/suite race)

# Packages whose results depend on the processor (scripts/suite). Needs qemu-user-static; without cgo the test binaries are static.
arm64:
	p=$$($(GO) run ./scripts/suite arch) && CGO_ENABLED=0 GOARCH=arm64 $(GO) test -short -exec qemu-aarch64-static $$p

# Every Fuzz function of every package, FUZZTIME each.
fuzz-short:
	@set -e; $(GO) run ./scripts/suite fuzz | while read -r p dir targets; do for f in $$targets; do \
			echo "fuzz $$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$p; \
		done; done

cross:
	@set -e; for a in $(ARCHES); do echo "build $$a"; \
		CGO_ENABLED=0 GOOS=$${a%/*} GOARCH=$${a#*/} $(GO) build ./... ; \
		CGO_ENABLED=0 GOOS=$${a%/*} GOARCH=$${a#*/} $(GO) vet ./... ; done

# Fetches real kernels' BTF and real BPF objects from Debian packages into $(CORPUS); needs apt, dpkg-deb, xz.
corpus:
	scripts/corpus.sh $(CORPUS)

# The whole test suite with the corpus.
test-corpus: corpus
	BPFRUN_CORPUS=$(abspath $(CORPUS)) $(GO) test ./...

# Compares the cells "differs" of the matrix of the corpus' libbpf-tools with their causes in CONFORMANCE.md.
differences:
	BPFRUN_CORPUS=$(abspath $(CORPUS)) $(GO) test -count=1 -v -run TestDifferencesHaveCauses ./internal/app/matrix

# Builds a module against Debian's kernel headers in OUT and compares `btf resolve-ids` with the tool of the kernel's build.
btf-module: build
	BPFRUN=$(abspath bpfrun) scripts/btf-module.sh $(or $(OUT),btf-module-out)

# Compares BTF generated from the DWARF of FILES (kernels, modules, objects) with pahole's.
btf-pahole: build
	BPFRUN=$(abspath bpfrun) scripts/btf-pahole.sh $(FILES)

# Compares btf layout with pahole on 200 structs of KERNEL, raw BTF.
btf-layout: build
	$(GO) run ./scripts/btflayout -bpfrun $(abspath bpfrun) -pahole $(or $(PAHOLE),pahole) $(KERNEL)

# Runs the corpus' objects on its amd64 kernels and writes the results into CONFORMANCE.md.
corpus-table:
	$(GO) run ./cmd/bpfrun conformance corpus --objects '$(CORPUS)/objects/*/libbpf-tools/*.o' \
		--objects '$(CORPUS)/objects/*/xdp-tools/*.o' --objects '$(CORPUS)/objects/*/libxdp1/*.o' \
		--objects '$(CORPUS)/objects/*/suricata/*.o' --objects '$(CORPUS)/objects/*/ir-keytable/*.o' \
		--btf '$(CORPUS)/btf/linux-*-amd64*.btf.xz' --into CONFORMANCE.md

# Unpacks the second toolchain (clang 22, libbpf 1.7, bpf-gcc) without installing it.
toolchain:
	scripts/toolchain.sh $(TOOLCHAIN)

# The same for Rust, with the sources of its core library.
toolchain-rust:
	scripts/toolchain.sh $(TOOLCHAIN)-rust sid rustc libstd-rust-dev rust-src llvm-22 clang-22 libbpf-dev coreutils dash bash findutils grep sed

# Rebuilds the committed objects of examples and testdata from their sources.
objects:
	$(MAKE) -C examples
	$(MAKE) -C testdata SID=$(abspath $(TOOLCHAIN)) RUST=$(abspath $(TOOLCHAIN))-rust
	$(MAKE) -C conformance/testdata/cases SID=$(abspath $(TOOLCHAIN))
	$(MAKE) -C internal/debug/testdata SID=$(abspath $(TOOLCHAIN))

check-objects:
	$(MAKE) -C examples check
	$(MAKE) -C testdata check SID=$(abspath $(TOOLCHAIN)) RUST=$(abspath $(TOOLCHAIN))-rust
	$(MAKE) -C conformance/testdata/cases check SID=$(abspath $(TOOLCHAIN))
	$(MAKE) -C internal/debug/testdata check SID=$(abspath $(TOOLCHAIN))

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# The profile that go build uses for profile-guided optimisation of the command: the interpreter on the
# benchmark programs. It is a few KB and committed; make it again when the interpreter changes.
pgo:
	$(GO) test -pgo=off -run '^$$' -bench '^BenchmarkInterp$$' -benchtime 300ms -cpuprofile $(abspath cmd/bpfrun/default.pgo) -o /dev/null ./internal/bench

# The tables of BENCHMARKS.md.
benchmarks:
	BENCH_COMPARE=1 BENCH_COMMAND=1 $(GO) test -pgo $(abspath cmd/bpfrun/default.pgo) -count=1 -timeout 30m -v -run 'TestCompare|TestCommandTime' ./internal/bench

# Rewrites golden files, generated documentation and transcripts in every package that has some. Review the diff before you commit.
update:
	$(GO) test -count=1 $$($(GO) list -f '{{range .TestImports}}{{if eq . "github.com/bpfrun/bpfrun/internal/testing/rewrite"}}{{$$.ImportPath}}{{end}}{{end}}{{range .XTestImports}}{{if eq . "github.com/bpfrun/bpfrun/internal/testing/rewrite"}}{{$$.ImportPath}}{{end}}{{end}}' ./...) -update

# The playground as a static site, for any server of files.
SITE_KERNELS := testdata/btf/linux-5.10.262-amd64-cloud.btf.xz testdata/btf/linux-6.1.176-arm64-cloud.btf.xz testdata/btf/linux-7.2.13-amd64.btf.xz
site:
	$(GO) run ./scripts/site dist/site $(SITE_KERNELS)

# The playground in a browser: every view, by what a user sees. Needs node, npm and chromium.
browser-test: site build
	cd web/test && npm ci --silent && node --test playground.test.mjs reports.test.mjs

# The extension in VS Code itself. Needs node 20, npm, chromium, ripgrep, and a C++ compiler for VS Code's native parts.
editor-test: build
	cd editors/vscode && npm ci --silent --ignore-scripts && cd editor && npm ci --silent --ignore-scripts && sh prepare.sh && npm test

# The picture of the playground in README.md.
picture: build
	cd web/test && npm ci --silent && node picture.mjs

# Packages whose results may depend on the processor, as WebAssembly under node.
wasm-test:
	GOOS=js GOARCH=wasm $(GO) test -short -exec "$$($(GO) env GOROOT)/lib/wasm/go_js_wasm_exec" ./vm ./internal/maps ./corerelo ./conformance/isa
	BPFRUN_LONG=1 $(GO) test -count=1 ./cmd/bpfrun-wasm

clean:
	rm -f bpfrun
	rm -rf dist

.PHONY: test-wide site picture browser-test editor-test wasm-test btf-module btf-pahole btf-layout update build test vet lint race arm64 fuzz-short cross corpus test-corpus corpus-table differences toolchain toolchain-rust objects check-objects bench pgo benchmarks clean

# Generated programs: the interpreter compared with the reference evaluator, and with the running kernel (root, Linux).
differential:
	$(GO) run ./cmd/bpfrun conformance generate --count 1000000 --seed 2026

differential-kernel:
	$(GO) run ./cmd/bpfrun conformance generate --kernel --count 100000 --seed 2026 -v

# Native code, as first compiled and with loops optimised, compared with the interpreter and the reference evaluator, on programs that end
# normally and on programs that fault.
differential-jit:
	$(GO) run ./cmd/bpfrun conformance generate --engine both --count 1000000 --seed 2026
	$(GO) run ./cmd/bpfrun conformance generate --engine both --mutate --runs 1 --count 100000 --seed 2027
	$(GO) run ./cmd/bpfrun conformance generate --engine both --only walk --count 300000 --seed 2028
	$(GO) run ./cmd/bpfrun conformance generate --engine both --only walk --mutate --runs 1 --count 100000 --seed 2029
	$(GO) run ./cmd/bpfrun conformance generate --engine both --only recursion --count 100000 --seed 2030

# Coverage = a count from the interpreter's trace, on both engines; genhtml (Debian's package lcov) reads the tracefile.
coverage:
	$(GO) test -count=1 -v -run 'TestEqualToTrace|TestGenhtmlReads' ./internal/app/cover

# A session of more than 60 commands on a pseudoterminal, 100 times: each line of output comes once, whole and in order.
terminal:
	$(GO) test -count=100 -timeout 30m -run TestLongSessionOnTerminal ./internal/debug/repl

# Native code under garbage collection, profiling signals and cancellation, for minutes.
soak:
	BPFRUN_SOAK=5m $(GO) test -count=1 -timeout 10m -v -run TestSoak ./jit
	BPFRUN_SOAK=2m $(GO) test -race -count=1 -timeout 10m -v -run TestSoak ./jit

# Correct programs by three compilers (clang-14 and clang-19 of Debian 12, clang-22 of the second toolchain), -O1, -O2, -Os and CPU v1 to
# v4, on five kernels and both engines: bpfrun must find nothing wrong and give no warning (except for instructions and helpers that old
# kernels do not know). The mistakes that resemble those programs must all be found.
falsealarms: build
	$(GO) run ./scripts/falsealarms --clang clang-14 --clang clang-19 --clang 'scripts/toolchain.sh --run $(TOOLCHAIN) clang-22' \
		--btf embedded --btf 'testdata/btf/*.btf.xz' $(if $(wildcard $(CORPUS)/btf),--btf '$(CORPUS)/btf/linux-6.*-amd64*.btf.xz') \
		--wrong testdata/src/wrongfields.bpf.c --wrong testdata/src/leaks.bpf.c --wrong testdata/src/overreads.bpf.c testdata/falsealarms/*.bpf.c

# The test suite of cilium/ebpf, unmodified, as nobody on a simulated kernel (KERNEL=embedded, or what --btf takes).
exec-suite:
	scripts/exec-suite.sh $(or $(KERNEL),embedded) $(VMLINUZ) $(MODULES)

# The packaged BPF tools, unmodified: with events, compared with their recorded output, and without events on each of KERNELS (names or BTF files).
exec-tools:
	scripts/exec-tools.sh $(KERNELS)

# A tool with aya's loader, built with Debian's crates, on KERNELS.
exec-aya:
	scripts/exec-aya.sh $(TOOLCHAIN)-aya $(KERNELS)

# Random system calls of a hostile tool, CALLS of them, from SEED on: some thousand in a second. Commands with seeds that lie apart can run in parallel.
exec-random:
	$(GO) test ./internal/exec -run '^TestRandomCallsOfATool$$' -count=1 -timeout 0 -v -calls $(or $(CALLS),10000000) -seed $(or $(SEED),1)

# The tests of libbpf's test_progs that use BPF_PROG_TEST_RUN, built from the kernel sources LINUX (6.12) into OUT, on BTF (raw), beside the kernel VM (a vmlinuz) in qemu.
exec-testprogs:
	BTF=$(BTF) VM=$(VM) scripts/exec-testprogs.sh $(LINUX) $(OUT)

# Hostile input of every kind, thousands of pieces of it: objects, scenarios, coverage files, archives of kernels and types through the commands, entries
# of caches, corpora, schedulers, programs that make endless output, messages to the debug adapter; and hostile tools under exec.
ATTACK := ./cmd/bpfrun ./btf/btffile ./btf/debuginfo ./corerelo ./internal/app/cover ./internal/debug/dap ./internal/app/fuzz ./internal/filecache ./internal/subsys/sched ./internal/machine ./internal/app/matrix
attack:
	BPFRUN_LONG=1 $(GO) test -count=1 -timeout 1h -run '^Test(Damaged|Hostile|LinkInPlace|Entr|Bombs|Bad|Flood|CacheThat)' $(ATTACK)
	BPFRUN_LONG=1 $(GO) test -count=1 -timeout 1h ./internal/exec \
		-run '^Test(EverySpelling|Simulated|Mounts|ATool(Does|Cannot)|CallsOfTheTable|CallsThatAreNotServed|WhoOutlives|NoRouteMessage|RandomCalls|.*Descriptors?$$)'

# Injects faults one at a time. Recorded vectors and the generator must find 40 in the interpreter; tests must find those in
# loader, kernel, machine, maps, helpers, scenarios, memory, matrix and the JIT's planning (half an hour).
mutants: mutants-interpreter mutants-rules

mutants-interpreter:
	$(GO) run ./conformance/isa/mutants

mutants-rules:
	BPFRUN_LONG=1 nice -n 15 $(GO) run ./conformance/mutants

# A sample of generated mutants over all packages: hours for 1,000.
mutants-border:
	BPFRUN_WIDE=1 nice -n 15 $(GO) run ./conformance/mutants/border $(BORDER)

.PHONY: attack coverage terminal exec-suite exec-tools exec-aya exec-random exec-testprogs falsealarms differential differential-jit differential-kernel soak mutants mutants-interpreter mutants-rules mutants-border

# The rest of a release: manual pages and shell completions, generated from the commands.
DOCS := dist-docs
man:
	$(GO) run -tags man ./cmd/bpfrun man $(DOCS)/man

completions:
	@mkdir -p $(DOCS)/completions
	@for shell in bash zsh fish powershell; do $(GO) run ./cmd/bpfrun completion $$shell >$(DOCS)/completions/bpfrun.$$shell || exit 1; done

# The binary that the Dockerfile copies.
build-static:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o bpfrun ./cmd/bpfrun

# Builds the files of a release in dist/release without publishing them, with the site and the screenshots of its tests: VERSION=1.2.3, TARGETS="linux/amd64 ..." for some platforms only.
release:
	scripts/release.sh -w $(if $(VERSION),-v $(VERSION)) $(TARGETS)

# Installs and runs the files in dist/release as far as this machine can.
release-try:
	scripts/release-try.sh

.PHONY: man completions build-static release release-try
