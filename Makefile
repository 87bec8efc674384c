# The one list of commands. Every target sets up what it needs: a node that isolated-vm has binaries for, then
# the packages of package-lock.json. Nothing is installed outside this folder.

SHELL := /bin/sh
NODE_VERSION := 24.21.0
NODE_MAJOR := $(shell node -p 'process.versions.node.split(".")[0]' 2>/dev/null)

# isolated-vm 7 comes with binaries for node 24 and 26. With any other, a private node 24 is used.
ifeq ($(filter 24 26,$(NODE_MAJOR)),)
PRIVATE_NODE := .node/node_modules/.bin/node
endif
export PATH := $(CURDIR)/node_modules/.bin:$(if $(PRIVATE_NODE),$(CURDIR)/.node/node_modules/.bin:)$(PATH)

PACKAGES := node_modules/.installed
NODE_CLI := node --conditions=portcullis-source src/cli.ts

.PHONY: demo demo-docker image test test-all live check format lint types bench bench-peers bench-tokens build dist clean

demo: $(PACKAGES)
	@$(NODE_CLI) demo

# The same, in containers: it takes a Docker daemon, and `make image`.
demo-docker: $(PACKAGES)
	@$(NODE_CLI) demo --sandbox docker

# On the engine that DOCKER_HOST names. Where it gives builds no network: make image NETWORK=host
image: $(PACKAGES)
	@$(NODE_CLI) image build $(if $(NETWORK),--network $(NETWORK))

# A few minutes. Tests with containers run where a Docker daemon answers that has the image, and of the hostile programs
# one of each class.
test: $(PACKAGES)
	@vitest run

# Everything. Where no Docker daemon answers and one can be started (root, Debian), the first test with containers does so.
test-all: export PORTCULLIS_TESTS := all
test-all: $(PACKAGES)
	@vitest run

# A small task for the real model of each provider whose key is in the environment. It costs a few cents.
live: $(PACKAGES)
	@node --conditions=portcullis-source test/models/live.ts

check: format lint types test-all

format: $(PACKAGES)
	@oxfmt --check

lint: $(PACKAGES)
	@oxlint --type-aware --deny-warnings

types: $(PACKAGES)
	@tsc

# Both measure what is published, not the source.
bench: export PORTCULLIS_TESTS := all
bench: build
	@node test/bench/bench.ts

bench-peers: build
	@cd test/bench/peers && npm ci --no-audit --no-fund --loglevel=error --ignore-scripts=false
	@node test/bench/peers/bench-peers.js

# What programs save against direct calls, in tokens, with no provider asked: the report and its pictures, which README
# and docs show. It fails where an answer is wrong, or where a figure is far from its reference and no reason is given.
bench-tokens: $(PACKAGES)
	@$(NODE_CLI) bench --out test/bench/tokens
	@node test/bench/tokens/draw.ts
	@node --conditions=portcullis-source test/bench/tokens/check-reference.ts

# What is published. `npm pack` makes it by itself.
build: $(PACKAGES)
	@rm -rf dist && tsc -p tsconfig.dist.json && chmod +x dist/src/cli.js
	@find examples -type f ! -name '*.ts' -exec cp {} dist/{} \;

dist: build
	@publint --strict && attw --pack . --profile esm-only

clean:
	@rm -rf node_modules .node dist report

$(PACKAGES): package.json package-lock.json | $(PRIVATE_NODE)
	@echo "Installing packages ..." && npm ci --no-audit --no-fund --loglevel=error && touch $@

.node/node_modules/.bin/node:
	@command -v npm >/dev/null || { echo "npm is needed: install Node.js of any version from 18 on, the right one is then fetched from npm."; exit 1; }
	@echo "Fetching node $(NODE_VERSION) from npm, for this folder only ..."
	@npm install --prefix .node --no-save --no-audit --no-fund --loglevel=error --ignore-scripts=false node@$(NODE_VERSION)
