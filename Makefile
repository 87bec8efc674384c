# All commands of the project. Every target installs what it needs: a node that isolated-vm has binaries for, and the
# packages that its lock names. Nothing is installed outside this folder.

SHELL := /bin/sh
NODE_VERSION := 24.21.0
NODE_MAJOR := $(shell node -p 'process.versions.node.split(".")[0]' 2>/dev/null)

# isolated-vm 7 has binaries for node 24 and 26. With any other node, a private node 24 is used.
ifeq ($(filter 24 26,$(NODE_MAJOR)),)
PRIVATE_NODE := .node/node_modules/.bin/node
endif
export PATH := $(CURDIR)/node_modules/.bin:$(if $(PRIVATE_NODE),$(CURDIR)/.node/node_modules/.bin:)$(PATH)

# Packages of tests and builds. Tests of integrations, and checks of all sources, need more: frameworks, clients and suites of others.
ALL_PACKAGES := node_modules/.installed-all
OF_ALL := packages lint types check test-all mutants bench-growth bench-tokens
PACKAGES := $(if $(wildcard $(ALL_PACKAGES))$(filter $(OF_ALL),$(MAKECMDGOALS)),$(ALL_PACKAGES),node_modules/.installed)
# The demo needs few of them: only those are installed for it, where no more are installed or asked for.
DEMO_PACKAGES := $(if $(wildcard $(PACKAGES))$(filter-out demo,$(MAKECMDGOALS)),$(PACKAGES),node_modules/.installed-demo)
# Bundlers and packagers have packages of their own, in the folder that needs them.
PACKAGERS := bridge/globals page test/packagers
NODE_CLI := node --conditions=portcullis-source src/cli.ts

.PHONY: demo packages demo-docker image globals page options test test-all test-engine test-machine test-steady kill-test fleet-test mutants live check format lint types bench bench-durable bench-fleet bench-growth bench-density bench-serve-size bench-peers bench-gateway bench-tokens build dist clean

demo: $(DEMO_PACKAGES)
	@$(NODE_CLI) demo

# All packages, for tests of integrations and for an editor that shows no import as missing.
packages: $(PACKAGES) $(PACKAGERS:=/node_modules/.installed)
	@:

# The demo in containers. It needs a Docker daemon, and `make image` before.
demo-docker: $(PACKAGES)
	@$(NODE_CLI) demo --sandbox docker

# Builds the image on the Docker daemon that DOCKER_HOST names. Where it gives builds no network: make image NETWORK=host
image: $(PACKAGES)
	@$(NODE_CLI) image build $(if $(NETWORK),--network $(NETWORK))

# Bundles bridge/globals and its packages into bridge/guest/globals.js, which is committed.
globals: bridge/globals/node_modules/.installed
	@node bridge/globals/bundle.js

# Bundles page/ and its package into page/built, which is committed.
page: $(PACKAGES) page/node_modules/.installed
	@node page/build.js

# Writes docs/options.md from the rules of the options and of the commands.
options: $(PACKAGES)
	@node --conditions=portcullis-source test/documents/write-options.ts

# Takes the pictures of the page for README and docs, with Debian's Chromium.
page-pictures: $(PACKAGES)
	@node --conditions=portcullis-source test/page/take-pictures.ts

# Tests whose verdict does not depend on this machine: of each room, each door and each class of hostile programs. Tests with
# containers run where a Docker daemon answers that has the image.
test: $(PACKAGES)
	@vitest run

# All tests of that kind: every hostile program, every cut, the kills, the long properties. Where no Docker daemon answers and
# one can be started (as root on Debian), the first test with containers starts it.
test-all: export PORTCULLIS_TESTS := all
test-all: packages
	@vitest run

# Finds the Docker daemon for tests with containers, or starts one, and builds the image there. The next run of tests ends it.
test-engine: export PORTCULLIS_TESTS := all
test-engine: $(PACKAGES)
	@node --conditions=portcullis-source --input-type=module -e "import { needDockerEngine } from './test/docker-support/docker-engine.ts'; needDockerEngine();"

# What this machine takes: blocks of the event loop, memory, processor time, growth. One file after the other, with nothing
# beside it. Each figure is printed and bounded by its ratio to a baseline of the same minute.
test-machine: export PORTCULLIS_TESTS := machine
test-machine: $(PACKAGES)
	@vitest run

# make test IDLE times (10), and LOADED times (5) beside four busy loops. It prints each run.
test-steady: $(PACKAGES)
	@IDLE=$(or $(IDLE),10) LOADED=$(or $(LOADED),5) node test/support/steady.ts

# Kills drivers of executions at random and at every named point, KILLS times in all (100 in make test-all), stops them and
# locks them out.
kill-test: export PORTCULLIS_TESTS := all
kill-test: $(PACKAGES)
	@KILLS=$(or $(KILLS),1000) vitest run test/durability

# Kills workers of a fleet on PostgreSQL, KILLS times (50 in make test-all), with restarts of the database and lost wakes.
fleet-test: export PORTCULLIS_TESTS := all
fleet-test: $(PACKAGES)
	@KILLS=$(or $(KILLS),50) vitest run test/fleet/kills.all.test.ts

# Tells which of 100 mutants of src the tests find, by room, before and after: at each place of test/mutants/drawn.json a
# condition is negated or a statement left out. It takes at most two hours, and continues where it was stopped. RECORD=1 writes
# what it finds to drawn.json. TREE tests another tree.
mutants: $(PACKAGES)
	@node test/mutants/mutants.ts $(if $(TREE),--tree $(TREE)) $(if $(RECORD),--record)

# Gives a small task to a real model of each provider whose key is in the environment. It costs a few cents.
live: $(PACKAGES)
	@node --conditions=portcullis-source test/models/live.ts

check: packages format lint types test

format: $(PACKAGES)
	@oxfmt --check

lint: packages
	@oxlint --type-aware --deny-warnings

types: packages
	@tsc
	@tsc -p tsconfig.dist.json --noEmit --incremental --tsBuildInfoFile node_modules/.cache/tsc/dist
	@tsc -p page
	@node --conditions=portcullis-source test/documents/write-snippets.ts && tsc -p node_modules/.cache/snippets

# Both benchmarks measure the built package, not the source.
bench: export PORTCULLIS_TESTS := all
bench: build
	@node test/bench/bench.ts

# The rows of durable executions alone.
bench-durable: build
	@node test/bench/bench-durable.ts

# What many machines cost, on a PostgreSQL of Debian's that it starts, beside one host in the same run. ROWS=calls,kills measures
# these parts alone, of throughput, calls, kills, decisions, growth and journal. WAITING executions wait while others are decided.
bench-fleet: export PORTCULLIS_TESTS := all
bench-fleet: build
	@node test/bench/bench-fleet.ts

# Programs that all wait at once on eight engines: PROGRAMS of them (1,000), WAIT_MS for each call (2,000).
bench-density: build
	@node test/bench/bench-density.ts

# What a server takes, for the table of docs/serving.md. ENGINES (32) programs run at once.
bench-serve-size: build
	@node test/bench/bench-serve-size.ts

# Whether calls, programs, tools and executions cost the same however many there are. GROWTH=full goes to 100,000 of them.
bench-growth: build
	@node test/bench/growth.ts

# Cold and warm figures of other packages, of this one and of its floor. ROUNDS=3 tells the range of three rounds; DRIVERS
# and WORKLOADS select.
bench-peers: build
	@cd test/bench/peers && npm ci --no-audit --no-fund --loglevel=error --ignore-scripts=false
	@ROUNDS=$(ROUNDS) DRIVERS=$(DRIVERS) WORKLOADS=$(WORKLOADS) node test/bench/peers/bench-peers.js

# What the gateway adds to the first word of an answer, beside its upstream alone. CLIENTS (8,200) is how many ask at once,
# of programs MOST_PROGRAMS (8) at most.
bench-gateway: build
	@node test/bench/bench-gateway.ts

# Measures the tokens that programs save against direct calls, without a request to a provider, and writes the report and
# the picture that README and docs show. It fails where an answer is wrong.
bench-tokens: TASKS = capital airports hops movies flights speeches subgrid licenses operations
bench-tokens: $(PACKAGES)
	@$(NODE_CLI) bench $(TASKS) streams --json > test/bench/tokens/report.json
	@node test/bench/tokens/draw.ts
	@node --conditions=portcullis-source test/bench/tokens/shared-value.ts

# Builds the published package. `npm pack` runs this by itself.
build: $(PACKAGES)
	@rm -rf dist && tsc -p tsconfig.dist.json
	@node build-dist.js && chmod +x dist/src/cli.js

dist: build test/packagers/node_modules/.installed
	@PATH=$(CURDIR)/test/packagers/node_modules/.bin:$$PATH && publint --strict && attw --pack . --profile esm-only

clean:
	@rm -rf node_modules $(PACKAGERS:=/node_modules) .node dist report

node_modules/.installed-demo: MODE := demo
node_modules/.installed: MODE := tests
$(ALL_PACKAGES): MODE := all
$(ALL_PACKAGES): test/integrations/package.json
node_modules/.installed-demo node_modules/.installed $(ALL_PACKAGES): package.json package-lock.json | $(PRIVATE_NODE)
	@node install-packages.js $(MODE) && touch $@

%/node_modules/.installed: %/package.json %/package-lock.json | $(PRIVATE_NODE)
	@echo "Installing the packages of $* ..."
	@cd $* && npm ci --prefer-offline --no-audit --no-fund --loglevel=error && touch node_modules/.installed

.node/node_modules/.bin/node:
	@command -v npm >/dev/null || { echo "npm is needed: install Node.js of any version from 18 on, the right one is then fetched from npm."; exit 1; }
	@node install-packages.js node $(NODE_VERSION)
