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
TOOL := go tool -modfile=tools/go.mod
# How long each fuzz target runs, and which packages have some.
FUZZTIME ?= 30s
FUZZPACKAGES := ./rules/... ./engine/... ./wire/... ./offline/layout ./offline/languageserver ./cmd/kanon

.PHONY: help
help: ## List the targets
	@awk -F':.*## ' '/^[a-z\/.-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: bin/kanon bin/controlplane ## Build bin/kanon and bin/controlplane

# Phony: go's own cache knows what has changed. Without the profile and -trimpath,
# which the image and the benchmarks have, kanon is built of the packages that tests
# and linters use too; with them, all of its packages are compiled once more, which
# takes minutes. Without VCS stamping a commit elsewhere does not link the control
# plane again.
KANON_BUILD ?= -pgo=off
.PHONY: bin/kanon
bin/kanon:
	@mkdir -p bin
	go build $(KANON_BUILD) -o bin/kanon ./cmd/kanon

.PHONY: bin/controlplane
bin/controlplane:
	@mkdir -p bin
	go build -C cmd/controlplane -buildvcs=false -ldflags '$(CONTROLPLANE_LDFLAGS)' -o ../../bin/controlplane .

.PHONY: demo
demo: build ## See a rule at work on a real API server (DEMO=once: run through and exit)
	@DEMO="$(DEMO)" demo/demo.sh

.PHONY: test
# Without DWARF the hundred test programs link in half the time. With -trimpath the build cache serves every clone. The
# other modules go without: they share what was compiled for bin and for the linters, all of Kubernetes above all.
test: build ## Run all tests with the race detector, against the real API server
	KANON_CONTROLPLANE='$(CURDIR)/bin/controlplane' go test -race -trimpath -ldflags=-w -timeout 40m ./...
	go test -C cmd/controlplane -timeout 10m ./...
	go test -C cmd/kanonbench -timeout 10m ./...
	go test -C tools -timeout 20m ./...

.PHONY: lives
lives: build ## Run SEQUENCES (default 500) random lives of parents, rules and children, drawn from SEED (default 1)
	KANON_CONTROLPLANE='$(CURDIR)/bin/controlplane' go test -timeout 60m ./engine/lifecycletest \
		-seed $(or $(SEED),1) -sequences $(or $(SEQUENCES),500)

.PHONY: lint
lint: ## Check style, imports and formatting
	$(TOOL) golangci-lint run ./...
	cd cmd/controlplane && go tool -modfile=../../tools/go.mod golangci-lint run --config ../../.golangci.yml ./...
	cd cmd/kanonbench && go tool -modfile=../../tools/go.mod golangci-lint run --config ../../.golangci.yml ./...

.PHONY: format
format: ## Format all Go code
	$(TOOL) golangci-lint fmt

.PHONY: crd
crd: ## Write the fields of a rule into the CustomResourceDefinition of Rule objects
	go test ./offline/ruleschema -run '^TestDefinition$$' -update
	$(MAKE) install.yaml

.PHONY: install.yaml
install.yaml: bin/controlplane ## Write deploy/base as one file, deploy/install.yaml
	KANON_CONTROLPLANE='$(CURDIR)/bin/controlplane' go test ./deploy -run '^TestInstallManifest$$' -update

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (default 30s)
	@set -e; packages=$$(go list $(FUZZPACKAGES)); for package in $$packages; do \
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
bench: KANON_BUILD = -trimpath # as the image
bench: bin/kanon bin/controlplane bin/kanonbench ## Compare with an operator by hand (BENCH=quick, default, loads, long, longest or patches)
	$(if $(BENCH_$(BENCH)),,$(error BENCH must be quick, default, loads, long, longest or patches, not $(BENCH)))
	$(if $(filter default,$(BENCH)),go test -run '^$$' -bench . -benchmem ./rules/...)
	bin/kanonbench run $(BENCH_$(BENCH)) --controlplane bin/controlplane --out bench-$(BENCH).txt

.PHONY: takeover
takeover: bin/controlplane ## Measure how soon another Kanon takes over from one that is killed, with 5,000 parents
	KANON_CONTROLPLANE='$(CURDIR)/bin/controlplane' go test ./cmd/kanon -run '^$$' -bench Takeover -benchtime 1x -timeout 15m

.PHONY: dashboard
dashboard: bin/kanon bin/controlplane bin/kanonbench ## Draw docs/dashboard.svg, the dashboard with the metrics of a benchmark (LOAD=plain=500)
	bin/kanonbench dashboard --load '$(or $(LOAD),plain=500)' --board deploy/dashboard.json --out docs/dashboard.svg

# The compiler reads cmd/kanon/default.pgo by itself. Make it again after large changes of the engine.
# The profile begins with the process. It covers all phases that write, because 8,000 parents are created, changed and
# repaired within 150 seconds. It has some 3,000 samples; with a quarter of them, the compiler misses hot calls.
PGOPORT ?= 6061
.PHONY: pgo
pgo: KANON_BUILD = -trimpath
pgo: bin/kanon bin/controlplane bin/kanonbench ## Record what kanon run does in a benchmark, for profile-guided optimisation (cmd/kanon/default.pgo)
	@bin/kanonbench run --load plain=8000 --rounds 1 --engines kanon --rest 10s --singles 10 \
		--controlplane bin/controlplane --kanon-arg --metrics-bind-address=127.0.0.1:$(PGOPORT) --kanon-arg --metrics-secure=false --out /dev/null & bench=$$!; \
	until curl -sf -o cmd/kanon/default.pgo 'http://127.0.0.1:$(PGOPORT)/debug/pprof/profile?seconds=$(or $(PGOSECONDS),150)'; do \
		kill -0 $$bench || exit 1; sleep 0.2; done; \
	wait $$bench; go tool pprof -top -nodecount 5 cmd/kanon/default.pgo

.PHONY: microbench
microbench: ## Run the Go benchmarks with allocations, COUNT times (default 6) for BENCHTIME (default 1s) each, for benchstat
	go test -run '^$$' -bench . -benchmem -count $(or $(COUNT),6) -benchtime $(or $(BENCHTIME),1s) ./rules/... ./engine/... ./wire/... ./cmd/kanon

.PHONY: docs
docs: bin/kanon ## Check the documents, build their site in bin/site, and follow its links
	go test ./docs
	site/stage.sh bin/site-source
	cd bin/site-source && go tool -modfile=../../tools/hugo.mod hugo --destination ../site --cleanDestinationDir
	go run ./site/check bin/site

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
	go run -C tools ./release --version '$(VERSION)' --out ../dist $(if $(PLATFORMS),--platforms '$(PLATFORMS)') \
		$(if $(IMAGE),--image '$(IMAGE)') $(if $(DOWNLOADS),--downloads '$(DOWNLOADS)')
	$(if $(RELEASE_SIGN),$(RELEASE_SIGN) dist/checksums.txt)

.PHONY: image
image: ## Build the container image kanon:latest
	docker build -t kanon:latest .

.PHONY: clean
clean: ## Remove what the build left
	rm -rf bin dist
