# Everything a contributor does has a target here; `make help` lists them.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The version of Kubernetes that the control plane is built from, and reports.
KUBERNETES_VERSION := $(shell sed -n 's,^[[:space:]]*k8s.io/kubernetes \(v[0-9.]*\)$$,\1,p' cmd/controlplane/go.mod)
KUBERNETES_MAJOR := $(word 1,$(subst ., ,$(KUBERNETES_VERSION:v%=%)))
KUBERNETES_MINOR := $(word 2,$(subst ., ,$(KUBERNETES_VERSION:v%=%)))
CONTROLPLANE_LDFLAGS := -s -w $(foreach package,k8s.io/component-base/version k8s.io/client-go/pkg/version,\
	-X $(package).gitVersion=$(KUBERNETES_VERSION) \
	-X $(package).gitMajor=$(KUBERNETES_MAJOR) \
	-X $(package).gitMinor=$(KUBERNETES_MINOR) \
	-X $(package).gitCommit=$(KUBERNETES_VERSION) \
	-X $(package).gitTreeState=clean)

# Linters and other tools are pinned in a module of their own.
TOOLS := $(CURDIR)/internal/tools
# The linter's cache is in Go's: who keeps the one keeps the other.
LINT := GOLANGCI_LINT_CACHE="$$(go env GOCACHE)/golangci-lint" go tool -modfile=$(TOOLS)/go.mod golangci-lint run \
	--config $(CURDIR)/.golangci.yml ./...
# How long each fuzz target runs.
FUZZTIME ?= 30s
# packages are those whose tests have functions of a name.
packages = $$(git grep -l '^func $(1)' -- '*_test.go' ':!cmd/controlplane' ':!cmd/kanonbench' | xargs -n1 dirname | sort -u | sed 's,^,./,')

.PHONY: help
help: ## List the targets
	@awk -F':.*## ' '/^[a-z\/.-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: bin/kanon bin/controlplane ## Build bin/kanon and bin/controlplane

# Phony: go's own cache knows what has changed. Without VCS stamping a commit elsewhere does not link it again.
.PHONY: bin/kanon
bin/kanon:
	@mkdir -p bin
	go build -buildvcs=false -o bin/kanon ./cmd/kanon

.PHONY: bin/controlplane
bin/controlplane:
	@mkdir -p bin
	go build -C cmd/controlplane -buildvcs=false -ldflags '$(CONTROLPLANE_LDFLAGS)' -o ../../bin/controlplane .

.PHONY: demo
demo: build ## See a rule at work on a real API server (DEMO=once: run through and exit)
	@DEMO="$(DEMO)" deploy/demo.sh

# Goroutines meet in these packages, so their tests run with the race detector. engine/lifecycletest is that of the engine,
# whose own tests run with it every night: they take three times as long with it.
RACE := /engine/(catalog|feedback|lifecycletest|patching|queue|reconcile|source|watch)$$|/restmapping$$
# Without DWARF the test programs link in half the time. make lint vets. Tests mostly wait, so one package more than there
# are processors.
TESTFLAGS := -ldflags=-w -vet=off -timeout 20m -p $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
export KANON_CONTROLPLANE := $(CURDIR)/bin/controlplane
export KANON_BINARY := $(CURDIR)/bin/kanon
.PHONY: test
test: build ## Run all tests, against the real API server, with the race detector where goroutines meet
	rm -rf bin/tests
	KANON_SHARED_CONTROLPLANE=$(CURDIR)/bin/tests bin/controlplane up --dir bin/tests --kubeconfig bin/tests/kubeconfig -- $(MAKE) tests

# What make test runs beside a control plane.
.PHONY: tests
tests:
	go test $(TESTFLAGS) $$(go list ./... | grep -vE '$(RACE)')
	go test -race $(TESTFLAGS) $$(go list ./... | grep -E '$(RACE)')
	go test -C cmd/controlplane $(TESTFLAGS) ./...
	go test -C cmd/kanonbench $(TESTFLAGS) ./...

.PHONY: nightly
nightly: build docs ## Run what is slow: all tests with the race detector, random lives, benchmarks and a release
	KANON_NIGHTLY=1 go test -race -ldflags=-w -timeout 60m ./...
	KANON_NIGHTLY=1 go test -C cmd/controlplane -race -ldflags=-w -timeout 20m ./...
	$(MAKE) lives
	$(MAKE) cuts RUNS=3
	$(MAKE) microbench COUNT=1 BENCHTIME=1x # so that no benchmark breaks unseen

.PHONY: lives
lives: build ## Run SEQUENCES (default 500) random lives of parents, rules and children, drawn from SEED (default 1)
	go test -timeout 60m ./engine/lifecycletest -seed $(or $(SEED),1) -sequences $(or $(SEQUENCES),500)

.PHONY: cuts
cuts: build ## Cut connections while parents and children change, RUNS (default 20) times, drawn from SEED (default 1)
	go test -timeout 60m ./engine/lifecycletest -run '^TestCutConnections$$' -seed $(or $(SEED),1) -cuts $(or $(RUNS),20) -v

.PHONY: lint
lint: ## Check style, imports and formatting
	$(LINT)
	cd cmd/controlplane && $(LINT)
	cd cmd/kanonbench && $(LINT)

.PHONY: format
format: ## Format all Go code
	go tool -modfile=$(TOOLS)/go.mod golangci-lint fmt

.PHONY: crd
crd: ## Write the fields of a rule into the CustomResourceDefinition of Rule objects
	go test ./rules/language -run '^TestDefinition$$' -update
	$(MAKE) install.yaml

.PHONY: install.yaml
install.yaml: bin/controlplane ## Write deploy/base as one file, deploy/install.yaml
	go test ./deploy -run '^TestInstallManifest$$' -update

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (default 30s)
	@set -e; for package in $(call packages,Fuzz); do \
		found=$$(go test -list '^Fuzz' $$package); \
		for target in $$(echo "$$found" | grep '^Fuzz' || true); do \
			echo "fuzz $$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

# What make bench runs, by BENCH: a first look, the default, other loads, and two long ones.
BENCH ?= default
BENCH_quick   := --load plain=100 --rounds 2 --singles 50 --rest 4s
BENCH_default := --load plain=1000 --rounds 5
BENCH_loads   := --load plain=100,wide=100,large=100,kinds=1000,beside=1000,beside=5000 --rounds 2 --rest 15s
BENCH_long    := --load plain=1000,plain=5000 --rounds 3
BENCH_longest := --load plain=20000 --rounds 2 --rest 5m
BENCH_patches := --load own=1000,own=5000 --load shared=1000,shared=5000 --load selected=1000,selected=5000 --rounds 3

.PHONY: bin/kanonbench
bin/kanonbench:
	@mkdir -p bin
	go build -C cmd/kanonbench -o ../../bin/kanonbench .

.PHONY: bench
bench: bin/kanon bin/controlplane bin/kanonbench ## Compare with an operator by hand (BENCH=quick, default, loads, long, longest or patches)
	$(if $(BENCH_$(BENCH)),,$(error BENCH must be quick, default, loads, long, longest or patches, not $(BENCH)))
	$(if $(filter default,$(BENCH)),go test -run '^$$' -bench . -benchmem ./rules/...)
	bin/kanonbench run $(BENCH_$(BENCH)) --controlplane bin/controlplane --out bench-$(BENCH).txt

.PHONY: takeover
takeover: build ## Measure how soon another Kanon takes over from one that is killed, with 5,000 parents
	go test ./cmd/kanon -run '^$$' -bench Takeover -benchtime 1x -timeout 15m

.PHONY: microbench
microbench: bin/kanon ## Run the Go benchmarks with allocations, COUNT times (default 6) for BENCHTIME (default 1s) each, for benchstat
	go test -run '^$$' -bench . -benchmem -count $(or $(COUNT),6) -benchtime $(or $(BENCHTIME),1s) $(call packages,Benchmark)

.PHONY: docs
docs: ## Check the documents, build their site in bin/site, and follow its links
	go test ./docs
	docs/site/stage.sh bin/site-source
	cd bin/site-source && go tool -modfile=$(TOOLS)/hugo.mod hugo --destination ../site --cleanDestinationDir
	go test ./docs -run '^TestSite$$' -count 1 -site '$(CURDIR)/bin/site'

.PHONY: verify
verify: ## Check that modules are tidy
	go mod tidy -diff
	cd cmd/controlplane && go mod tidy -diff
	cd cmd/kanonbench && go mod tidy -diff

# What a release is; docs/releasing.md says how it is published. RELEASE_SIGN is a command that signs the checksums, such as
# 'cosign sign-blob --yes --bundle dist/checksums.txt.sigstore.json'; empty: nothing is signed.
RELEASE_SIGN ?=
.PHONY: release
release: ## Make all files of release VERSION in dist/, for PLATFORMS, without publishing any
	VERSION='$(VERSION)' PLATFORMS='$(PLATFORMS)' IMAGE='$(IMAGE)' DOWNLOADS='$(DOWNLOADS)' deploy/release.sh
	$(if $(RELEASE_SIGN),$(RELEASE_SIGN) dist/checksums.txt)

.PHONY: image
image: ## Build the container image kanon:latest
	docker build -t kanon:latest .

.PHONY: clean
clean: ## Remove what the build left
	rm -rf bin dist
