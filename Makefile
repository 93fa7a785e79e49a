# Papaver's commands. `make` alone lists them; the work is done in scripts/.

# Packages whose tests start Chromium; a folder that does not exist is no error. They run without the race detector, two at a time; all others run with it.
CHROMIUM_PKGS := ./browser/... ./agent/... ./cmd/... ./soak/...

# How long `make fuzz` gives each fuzz function.
FUZZTIME ?= 10s

# Chromium's sandbox cannot start as root. Tests that start Chromium read this variable; the binary never does.
ifeq ($(shell id -u),0)
export PAPAVER_TEST_SANDBOX := off
endif

.DEFAULT_GOAL := help
.PHONY: help build demo test check conformance lint fuzz interop simulate crash soak bench scale-sessions scale-tui scale-ledger microbench

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/papaver
	go build -o bin/papaver ./cmd/papaver

demo: ## install Chromium if there is none, build, and play one whole round with the bundled site
	@scripts/chromium ensure >/dev/null
	@$(MAKE) --no-print-directory build
	@scripts/demo

test: ## install Chromium if there is none, then make every check and run every test
	@scripts/chromium ensure >/dev/null
	@scripts/versions
	@$(MAKE) --no-print-directory check
	@scripts/test $(CHROMIUM_PKGS)

check: lint ## all checks of the sources: lint, a tidy go.mod, the clause marks
	go mod tidy -diff
	@echo "== conformance marks"
	@go run ./conformance/report --check

conformance: ## print which clauses of conformance/clauses.tsv the tests cover
	@go run ./conformance/report

lint: ## gofmt, go vet, staticcheck, govulncheck, shellcheck
	@scripts/lint

fuzz: ## run every fuzz function for FUZZTIME (10s) each
	@scripts/fuzz $(FUZZTIME)

interop: build ## hold both sides of the wire against other people's implementations (flags in INTEROP=)
	@scripts/chromium ensure >/dev/null
	@go run ./interop $(INTEROP)

simulate: ## play SEEDS (100000) seeds of the simulator and find each deliberate bug; SEED=n tells one seed's story
	@scripts/simulate

soak: ## run four Sessions at two Companies for SOAK (30m) and count what is missed, mixed or left (flags in SOAK_FLAGS=)
	@scripts/chromium ensure >/dev/null
	@scripts/soak $(SOAK_FLAGS)

crash: ## kill the real program wherever it writes or sends, and write docs/crash-matrix.md (some minutes)
	@scripts/chromium ensure >/dev/null
	@scripts/crash

microbench: ## compare the Go benchmarks of HEAD with those of BASE (HEAD~1), by benchstat
	@scripts/microbench

scale-sessions: build ## measure how a process grows with Sessions and requests (flags in SCALE=, such as -write)
	@scripts/chromium ensure >/dev/null
	@go test -count=1 -v -timeout 1h ./scale -args -measure $(SCALE)

scale-ledger: ## measure how the ledger grows with its rounds (docs/scale-ledger.md; flags in SCALE=, such as -write)
	@go test -count=1 -v -timeout 1h ./ledger -run 'HowItGrowsWithItsRounds' -args -measure $(SCALE)

scale-tui: ## measure how the terminal UI grows with what waits (docs/scale-tui.md; flags in SCALE=, such as -write)
	@go test -count=1 -v ./tui -run 'HowItGrowsWithWhatWaits' -args -measure $(SCALE)

bench: build ## measure M1 to M8 of docs/performance.md against their goals (flags in BENCH=, such as -n 3 or -write)
	@scripts/chromium ensure >/dev/null
	@scripts/bench $(BENCH)
