# Ledgerlake: a marketplace seller's financial events as partitioned Parquet.
.DEFAULT_GOAL := help
.PHONY: help install install-all build backfill check types lint rules formatting test test-slow test-s3 test-clients test-browser test-fleet test-fleet-short test-package test-nodes test-readers torture torture-short simulate attack attack-short test-all docs-api bench bench-queries bench-fleet bench-lake bench-catalog bench-verify clean

LAKE ?= data/lake
# Of `make bench`: megabytes of input, rounds that the medians are of, lists of events (34 or 4), and which ways take part (all).
SIZE ?= 200
ROUNDS ?= 3
LISTS ?= 34
ONLY ?=
# Of `make bench-queries`: events in 90 days, each of about ten amounts.
EVENTS ?= 150000
# Of `make bench-lake`: accounts, their entries in 90 days altogether, processes at once, and accounts that nights see to.
bench-lake: ACCOUNTS ?= 100
bench-lake: ENTRIES ?= 1000000
bench-lake: WORKERS ?= 2
bench-lake: NIGHTLY ?= $(ACCOUNTS)

# Of `make bench-fleet`: PLACES are turns that a worker has at once.
bench-fleet: ACCOUNTS ?= 10000
bench-fleet: DAYS ?= 30
bench-fleet: WORKERS ?= 50
bench-fleet: PLACES ?= 16

# npm writes this file when it has installed what package-lock.json names.
INSTALLED := node_modules/.package-lock.json
# Of the packages for development a build needs these only; every other goal needs all of them (vitest is one).
COMPILER := rolldown typescript @types/node @types/yargs
DEVELOPED := $(wildcard node_modules/vitest)
DEVELOPS := $(or $(DEVELOPED),$(filter-out build backfill,$(MAKECMDGOALS)))
# Shows what a command prints only where it fails.
quietly = said=$$($(1) 2>&1) || { echo "$$said" >&2; exit 1; }
BUILT := dist/.built
SOURCES := $(shell find src pipelines -type f 2>/dev/null) tsconfig.json tsconfig.build.json rolldown.config.ts

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@node -e "const before = (days) => new Date(Date.now() - days * 86400000).toISOString().slice(0, 10); \
		console.log('  make backfill FROM=' + before(60) + ' TO=' + before(30) + ' LAKE=data/lake ENDPOINT=https://… ACCOUNT=my-shop')"

# Whether each package that package-lock.json names is installed as it says. `npm ci` would replace the folder under whoever uses it.
matches = node -e "const read = (file) => JSON.parse(require('node:fs').readFileSync(file)).packages; \
	const [locked, installed] = ['package-lock.json', '$(INSTALLED)'].map(read); \
	const same = (path, one = locked[path], other = installed[path]) => other ? one?.version === other.version && one.integrity === other.integrity \
		: path === '' || one.optional || (one.dev && $(if $(DEVELOPS),false,!'$(COMPILER)'.split(' ').includes(path.slice(13)))); \
	process.exit([locked, installed].flatMap(Object.keys).every((path) => same(path)) ? 0 : 1)" 2>/dev/null
install = echo 'Installing the packages once: about 200 MB, half a minute or more …'; $(call quietly,$(1)) && touch $(INSTALLED)

$(INSTALLED): package.json package-lock.json $(if $(DEVELOPED),,$(if $(DEVELOPS),install-all))
ifneq ($(DEVELOPS),)
	@$(matches) || { $(call install,npm ci --ignore-scripts --no-audit --no-fund); }
else
	@$(matches) || { $(call install,npm install --loglevel=error --omit=dev --no-save --save-prod --ignore-scripts --no-audit --no-fund \
		$(shell node -p "const { devDependencies: of } = require('./package.json'); '$(COMPILER)'.split(' ').map((name) => name + '@' + of[name]).join(' ')")); }
endif

install-all:

$(BUILT): $(INSTALLED) $(SOURCES)
	@echo 'Compiling: a quarter of a minute …'
	@npm run --silent build

install: $(INSTALLED) ## Install the packages, those for development too

build: $(BUILT) ## Compile into dist/

# The two variables have the commands that it prints begin with npx, as they are to be pasted.
backfill: build ## Load a date range (a synthetic seller, as long as no account is configured) into data/lake
	@npm_command=exec npm_lifecycle_script=ledgerlake node dist/src/cli.js backfill --lake "$(LAKE)" \
		$(if $(FROM),--from "$(FROM)") $(if $(TO),--to "$(TO)") \
		$(if $(ENDPOINT),--endpoint "$(ENDPOINT)") $(if $(ACCOUNT),--account "$(ACCOUNT)") $(if $(API),--api "$(API)")

# One after the other: each uses both cores, and side by side they take longer. A larger young space saves a tenth of their CPU time.
# What is built is not checked: it would be a second time.
check lint: export NODE_OPTIONS := --max-semi-space-size=128
check: rules types build formatting ## Types, lint and format

types: $(INSTALLED)
	npm run --silent types

lint: rules formatting ## Lint and format: a minute and a half

rules: $(INSTALLED)
	npm run --silent rules

formatting: $(INSTALLED)
	npm run --silent formatting

test: types build ## Types and the tests: four minutes, with nothing but Node
	npm run --silent test:built

test-slow: build ## The tests that run whole commands, kill, race and repeat: twenty minutes
	npx vitest run .slow.test

test-s3: build ## The lake on a real S3 server (Ceph's, from Debian's packages)
	bash test/s3-real/run.sh

test-clients: build ## A replica of a lake read by clients that others wrote
	npx vitest run --config test/clients/vitest.config.ts

test-package: build ## Pack, install in an empty folder, and use what is installed
	bash test/installed/run.sh

test-nodes: build ## Install a fresh clone by folder, git URL, tarball and make on Node 20, 22, 24 and the newest
	bash test/installed/nodes.sh

test-browser: build ## The report in a real Chromium (Debian's package)
	sh test/browser/run.sh

test-readers: build ## Lakes and files read by ClickHouse (chdb from npm, about 550 MB), hyparquet, parquet-wasm and icebird
	sh test/readers/run.sh

test-fleet: build ## A fleet of worker processes on a real Redis (Debian's package)
	sh test/fleet-redis/run.sh

# The short forms take one trial in so many, others each time, and print what repeats them.
test-fleet-short: build ## The same with a quarter of the accounts
	LEDGERLAKE_TEST_SHARE=4 sh test/fleet-redis/run.sh

torture: build ## Kill runs and fail store calls, everywhere: some minutes
	npx vitest run --config test/torture/vitest.config.ts

torture-short: build ## The same with a tenth of the trials: two minutes
	LEDGERLAKE_TEST_SHARE=10 npx vitest run --config test/torture/vitest.config.ts test/torture

# SEEDS are numbers from FROM on, each of DAYS days; STEPS and CALM are of the line that plays a failing seed again; TRACE=1 prints all that happens.
simulate: $(INSTALLED) ## Play whole years of sellers, faults and crashes, each from its seed: ten minutes (SEEDS, FROM)
	@npx rolldown test/simulation/simulate.ts --platform node --format esm --external rolldown,rolldown/experimental --module-types .sql:text -d dist/simulation --logLevel silent > /dev/null
	@$(foreach name,SEEDS FROM DAYS STEPS CALM TRACE,$(if $($(name)),$(name)='$($(name))')) node dist/simulation/simulate.js

attack: build ## Damage lakes and send hostile input: some minutes
	npx vitest run --config test/attack/vitest.config.ts

attack-short: build ## The same with a fiftieth of the trials: two minutes
	LEDGERLAKE_TEST_SHARE=50 npx vitest run --config test/attack/vitest.config.ts

test-all: test test-slow test-s3 test-clients test-browser test-fleet test-package test-nodes test-readers torture attack ## Everything that this machine can run

docs-api: $(INSTALLED) ## Pages on the library and on the types of custom pipelines, in docs/api
	npm run --silent docs:api

bench: build ## Time saved pages to Parquet beside DuckDB and others (SIZE in MB, ROUNDS, LISTS, ONLY)
	npm run --silent modules
	LISTS=$(LISTS) node dist/modules/bench/load/run.js $(SIZE) $(ROUNDS) $(ONLY)

bench-queries: $(INSTALLED) ## Time the documented queries beside DuckDB's own copy (EVENTS, ROUNDS)
	npm run --silent modules
	node dist/modules/bench/queries/run.js $(EVENTS) $(ROUNDS)

bench-lake: $(INSTALLED) ## A lake of many accounts: its logs, its readers and a night (ACCOUNTS, ENTRIES, WORKERS, NIGHTLY)
	npm run --silent modules
	node dist/modules/bench/lake/run.js $(ACCOUNTS) $(ENTRIES) $(WORKERS) $(NIGHTLY)

bench-catalog: $(INSTALLED) ## Time the opening of the catalog, and commits
	npm run --silent modules
	node dist/modules/bench/lake/catalog.js

bench-verify: build ## Time verify beside DuckDB that reads the same files (ROUNDS)
	npm run --silent modules
	node dist/modules/bench/verify.js $(ROUNDS)

bench-fleet: $(INSTALLED) ## Simulate a fleet for a month on a clock of its own (ACCOUNTS, DAYS, WORKERS, PLACES)
	npm run --silent modules
	node dist/modules/bench/fleet/run.js $(ACCOUNTS) $(DAYS) $(WORKERS) $(PLACES)

clean: ## Remove what was built; the lake stays
	rm -rf dist coverage
