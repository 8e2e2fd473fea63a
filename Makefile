# What each target sets up, it names first. Nothing outside this checkout and the
# user's cache folder is touched, but for system packages that are named when
# they are installed.

GO ?= go
BIN := bin/towpath

.PHONY: help build demo test test-models test-runtimes test-demos bench check clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' Makefile | sed 's/:.*## /\t/' | expand -t 16

build: ## build bin/towpath
	@$(GO) build -trimpath -o $(BIN) ./cmd/towpath

demo: build ## build, fetch the small model, run the course example to the end
	@scripts/demo $(if $(IDEA),"$(IDEA)")

test: ## fetch the small models and pass the tests, in under ten minutes
	@scripts/test

check: ## gofmt, vet, and builds for macOS and Windows
	@scripts/check

test-models: test-runtimes test-demos ## the slow suites: every runtime, ten demos

test-runtimes: ## the whole course through a real Ollama, its OpenAI side, and the local model
	@scripts/test-runtimes

test-demos: build ## ten demos with ten ideas, at least nine complete
	@scripts/test-demos

bench: ## the measurements, each against its floor in the same run
	@scripts/bench

clean: ## remove what the targets above made in this checkout
	rm -rf bin demo
