# `make` lists the tasks. The environment in .venv is made by whatever needs it first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
PYTEST = $(BIN)/python -m pytest -q $(MARKS)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Other Kafka clients, for comparison; kept with what the tests fetch.
PEERS := $(or $(KCTL_CACHE),$(HOME)/.cache/kctl)/peers/.ready

# Without cached bytecode every run would compile kctl and rewrite the assertions of all tests again.
unexport PYTHONDONTWRITEBYTECODE
# Tests see the buffers that users have.
unexport PYTHONUNBUFFERED

# Tools that build and check a release, in the versions of requirements/release.txt.
RELEASE := $(or $(KCTL_CACHE),$(HOME)/.cache/kctl)/release
# Prints a line before a slow step and every four seconds while it runs.
PROGRESS := sh tools/progress.sh

# How much a run covers: `make check` leaves out tests marked slow or nightly, `make test` those marked nightly. `make nightly`
# and each tier by itself run everything. tests/conftest.py has the profile of the properties of each.
SCOPE ?= nightly
MARKS_check := -m "not slow and not nightly"
MARKS_test := -m "not nightly"
MARKS = $(MARKS_$(SCOPE)) --hypothesis-profile=$(SCOPE)

# Longest first, so that the lanes end together. sim runs in three parts for this reason.
STATIC := types format lint layers generated
CHECKED := sim-chaos unit sim-calls sim-hostile $(STATIC)
TESTED := broker cli sim-calls unit sim-chaos sim-hostile sim-seeds pipeline-jobs loopback docs fuzz conformance faultlab $(STATIC)
NIGHTLY := broker sim-calls dist pipeline-jobs sim-hostile artifacts conformance pipeline-source installed unit faultlab docs loopback foreign sim-seeds sim-chaos replication pipeline-versions versions fuzz $(STATIC)
SOAKS := soak soak-lakes sim-fresh sim-mutants
SIM_CHAOS := tests/sim/chaos tests/sim/chaos_producer tests/sim/producer
SIM_HOSTILE := tests/sim/hostile
# The extra compiles against libkrb5-dev; where that is missing, tests of Kerberos are skipped.
KERBEROS := $(shell command -v krb5-config > /dev/null && echo ,kerberos)
FAILED := build/failed-tiers
# Whole commands wait for timeouts most of the time; a file stays in one process, so that its module fixtures are made once.
FOUR_PROCESSES := -n 4 --dist loadfile
AT_A_TIME = $(MAKE) --no-print-directory --output-sync=target --jobs

.PHONY: help dist run test nightly check format lint types layers generated unit sim sim-chaos sim-hostile sim-calls sim-seeds sim-fresh sim-long sim-mutants fuzz loopback cli faultlab broker pipeline pipeline-source pipeline-jobs pipeline-versions soak soak-lakes replication conformance foreign docs site artifacts packages reproducible installed binary release-files versions bench bench-cli bench-lateness bench-peers clean

help:  ## list the tasks
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 26

$(INSTALLED): pyproject.toml setup.py $(wildcard kctl/client/records/_hot/*.py kctl/client/records/_hot/*.[ch] kctl/client/protocol/*.c)
	@[ -x $(BIN)/python ] || $(PROGRESS) "creating $(VENV)" $(PYTHON) -m venv $(VENV)
	@$(PROGRESS) "installing kctl in $(VENV): compiling takes one to two minutes" $(PIP) --editable '.$(EXTRAS)'
	@touch $@

# The record module is compiled once, with kctl; what the tests need besides comes without building kctl again.
$(READY): EXTRAS := [dev$(KERBEROS)]
$(READY): $(INSTALLED)
	@$(PROGRESS) "installing the packages of the tests" $(PIP) $$($(BIN)/python tools/extra_requirements.py dev$(KERBEROS))
	@touch $@

run: $(INSTALLED)  ## start a sandbox cluster, produce to it, consume from it, probe it
	@PATH="$(abspath $(BIN)):$$PATH" bash tools/first_run.sh

test: $(READY)  ## every tier within 12 minutes: what each change passes; starts a real broker and Spark itself
	@rm -rf $(FAILED) && mkdir -p $(FAILED)
	@$(AT_A_TIME) 3 SCOPE=test $(addprefix attempt-,$(TESTED))
	@$(SAY_FAILED)

nightly: $(READY)  ## every tier with all its tests, random inputs, every broker version, packages, planted bugs, soaks
	@rm -rf $(FAILED) && mkdir -p $(FAILED)
	@$(AT_A_TIME) 3 $(addprefix attempt-,$(NIGHTLY))
	@$(AT_A_TIME) 2 $(addprefix attempt-,$(SOAKS))
	@$(SAY_FAILED)

SAY_FAILED = if [ -n "$$(ls $(FAILED))" ]; then echo "failed tiers:" $$(ls $(FAILED)); exit 1; fi; echo "all tiers passed"

# One tier: a failure is noted, and the next tier runs.
attempt-%:
	@start=$$(date +%s); $(MAKE) --no-print-directory $* || touch $(FAILED)/$*; echo "$*: $$(($$(date +%s) - start)) s"

# Packages are built once.
attempt-artifacts attempt-installed: attempt-dist

check: $(READY)  ## what every commit passes, without the tests marked slow or nightly
	@$(AT_A_TIME) 2 SCOPE=check $(CHECKED)

format: $(READY)
	$(BIN)/ruff format --check --quiet .

lint: $(READY)
	$(BIN)/ruff check --quiet .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

generated: $(READY)  ## files that are made from others are up to date
	@PYTHONPATH=. $(BIN)/python tools/write_reference.py --check
	@PYTHONPATH=. $(BIN)/python tools/write_manuals.py --check
	@PYTHONPATH=. $(BIN)/python tools/write_constraints.py --check

unit: $(READY)  ## no socket, no sleep
	$(PYTEST) tests/unit
	$(if $(filter test,$(SCOPE)),,KCTL_PURE=1 $(PYTEST) tests/unit/records)

sim: $(READY)  ## client and sandbox in virtual time
	$(PYTEST) tests/sim

sim-chaos: $(READY)
	$(PYTEST) $(SIM_CHAOS)

sim-hostile: $(READY)
	$(PYTEST) $(SIM_HOSTILE)

sim-calls: $(READY)
	$(PYTEST) $(addprefix --ignore=,$(SIM_CHAOS) $(SIM_HOSTILE)) tests/sim

sim-seeds: $(READY)  ## seeds of the simulation: 80 of consumers and 24 of producers, a quarter for asyncio; 12 and 4 in `make test`
	$(BIN)/python -m tests.sim run --seeds 0:$(if $(filter test,$(SCOPE)),9,60) --jobs 2
	$(BIN)/python -m tests.sim run --producer --seeds 0:$(if $(filter test,$(SCOPE)),3,18) --jobs 2
	$(BIN)/python -m tests.sim run --aio --seeds 0:$(if $(filter test,$(SCOPE)),3,20) --jobs 2
	$(BIN)/python -m tests.sim run --aio --producer --seeds 0:$(if $(filter test,$(SCOPE)),1,6) --jobs 2

sim-fresh: $(READY)  ## 80 seeds of the simulation that no commit before has tried, and 20 of clients for asyncio
	$(BIN)/python -m tests.sim run --fresh 80 --jobs 2
	$(BIN)/python -m tests.sim run --producer --fresh 80 --jobs 2
	$(BIN)/python -m tests.sim run --aio --fresh 20 --jobs 2
	$(BIN)/python -m tests.sim run --aio --producer --fresh 20 --jobs 2

sim-long: $(READY)  ## 1,000 seeds, what they met, an hour of one group, Ctrl-C at each boundary, 200 healthy clusters
	$(BIN)/python -m tests.sim run --corpus --seeds 0:1000 --jobs 2 --coverage
	$(BIN)/python -m tests.sim run --producer --corpus --seeds 0:1000 --jobs 2 --coverage
	$(BIN)/python -m tests.sim memory
	KCTL_EACH_BOUNDARY=1 $(PYTEST) tests/sim/consumer/test_interrupts.py tests/sim/producer/test_interrupts.py
	KCTL_BOUNDARIES=300 $(PYTEST) tests/sim/admin/test_interrupts.py tests/sim/test_interrupted_commands.py
	KCTL_HEALTHY_CLUSTERS=200 $(PYTEST) tests/sim/why/test_healthy_clusters.py

sim-mutants: $(READY)  ## each bug planted in the client is found by the corpus or within 300 seeds
	$(BIN)/python -m tests.sim mutants --jobs 2

fuzz: $(READY)  ## every decoder, cut and mutated, compiled and not
	$(PYTEST) tests/fuzz
	$(if $(filter test,$(SCOPE)),,KCTL_PURE=1 $(PYTEST) tests/fuzz/records)

loopback: $(READY)  ## real sockets, own faults
	$(PYTEST) tests/loopback

cli: $(READY)  ## whole processes
	$(PYTEST) $(FOUR_PROCESSES) tests/cli

faultlab: $(READY)  ## each fault against each command: exit code, words, limit (some need root or real Kafka)
	$(PYTEST) tests/faultlab

broker: $(READY)  ## real Kafka: newest, 3.9 and 2.8 (Java 17 and Maven)
	$(PYTEST) tests/broker

pipeline-source: $(READY)  ## the data source, next to Spark's own connector (Java 17 and Maven)
	$(PYTEST) $(wildcard tests/pipeline/test_source_*.py)

pipeline-jobs: $(READY)  ## jobs on Spark: local, on a standalone cluster, under faults (Java 17 and Maven)
	$(PYTEST) $(filter-out tests/pipeline/test_source_%,$(wildcard tests/pipeline/test_*.py))

pipeline: pipeline-source pipeline-jobs  ## all that runs on Spark

pipeline-versions: $(READY)  ## the data source on the oldest and newest Spark (fetches 1 GB the first time)
	$(PYTEST) tests/pipeline_versions

soak: $(READY)  ## consume -g and produce under 20 kills and freezes each; KCTL_SOAK_SEED, KCTL_SOAK_BLOWS
	KCTL_SOAK_BLOWS=$(or $(KCTL_SOAK_BLOWS),20) $(PYTEST) -rP tests/broker/test_at_least_once.py
	KCTL_SOAK_BLOWS=$(or $(KCTL_SOAK_BLOWS),20) $(PYTEST) -rP tests/broker/test_produce_nothing_lost.py

soak-lakes: $(READY)  ## sync and export to stores and tables under 20 blows each, two writers at once, Azure; KCTL_SOAK_SEED, KCTL_SOAK_BLOWS
	$(PYTEST) -rP tests/soak_lakes

replication: $(READY)  ## the sandbox's story of replicas in trouble on three real nodes; its steps race with Kafka's own clocks
	$(PYTEST) tests/replication

foreign: $(READY)  ## the suites of Go's clients on the sandbox and on Kafka (Go, Java 17 and Maven; minutes)
	rm -f build/foreign.txt
	$(PYTEST) tests/foreign

docs: $(READY)  ## every block of README and docs is typed or run, and comes as it is shown
	$(PYTEST) tests/docs

dist: dist/.built

dist/.built: $(READY) setup.py pyproject.toml MANIFEST.in tools/build_packages.py $(shell find kctl man completions -name '*.py' -o -name '*.[ch]' -o -path 'man/*' -o -path 'completions/*')
	rm -rf dist
	$(BIN)/python tools/build_packages.py --out dist
	@touch $@

site: $(READY)  ## docs/ as a site in build/site; every link is checked
	$(BIN)/mkdocs build --quiet --strict

artifacts: $(READY)  ## build and test all that a release has, and build it again: packages, binary, deb, image, manifests
	@MAKEFLAGS= $(AT_A_TIME) 2 binary packages reproducible release-files

packages: dist/.built $(RELEASE)/.ready  ## sdist, wheels and zipapp in dist/, checked in empty environments
	KCTL_PACKAGES=dist $(PYTEST) --ignore=tests/packages/test_same_bytes.py tests/packages

binary: build/binary/SHA256SUMS $(RELEASE)/.ready  ## kctl with Python: directory, archive, one file, deb, image; checked where no Python is (root)
	@command -v debootstrap > /dev/null && command -v lintian > /dev/null \
	|| apt-get install --yes --quiet --no-install-recommends debootstrap lintian
	$(PYTEST) --ignore=tests/binary/test_same_bytes.py tests/binary
	KCTL_TEST_COMMAND=$(abspath build/binary/made/kctl/kctl) $(PYTEST) tests/broker/test_kerberos.py

build/binary/SHA256SUMS: dist/.built tools/build_binary.py tools/build_deb.py tools/bill_of_materials.py tools/channels.py tools/binary.spec tools/binary_start.py
	$(BIN)/python tools/build_binary.py \
	"$$(echo dist/*-cp$(shell $(BIN)/python -c 'import sys; print(*sys.version_info[:2], sep="")')-*.whl)"

release-files: $(READY) $(RELEASE)/.ready  ## the release workflow, the Containerfile, and the files of package managers pass their checkers (Go)
	@command -v nix-instantiate > /dev/null && command -v ruby > /dev/null && command -v shellcheck > /dev/null \
	|| apt-get install --yes --quiet --no-install-recommends nix-bin ruby shellcheck
	PATH="$(RELEASE)/bin:$$PATH" $(PYTEST) tests/release

$(RELEASE)/.ready: requirements/release.txt
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/release.txt
	@touch $@

reproducible: dist/.built build/binary/SHA256SUMS  ## packages, binary and deb have the same bytes if they are built again in another directory
	KCTL_PACKAGES=dist $(PYTEST) tests/packages/test_same_bytes.py tests/binary/test_same_bytes.py

installed: dist/.built  ## the cli tier against a wheel that is installed in an empty environment
	rm -rf build/installed
	$(PYTHON) -m venv build/installed
	build/installed/bin/python -m pip install --quiet --disable-pip-version-check \
	"$$(echo dist/*-cp$(shell $(BIN)/python -c 'import sys; print(*sys.version_info[:2], sep="")')-*.whl)[serdes]"
	KCTL_TEST_COMMAND=$(abspath build/installed/bin/kctl) $(PYTEST) $(FOUR_PROCESSES) tests/cli

versions:  ## unit, sim, loopback, fuzz and cli on Python 3.13 and 3.14 of Debian's releases (root, debootstrap)
	@command -v debootstrap > /dev/null || apt-get install --yes --quiet debootstrap
	PYTHON=$(PYTHON) tools/test_versions.sh

conformance: $(READY)  ## bytes and outcomes against the Java client and others
	$(PYTEST) tests/conformance

bench: $(READY) $(PEERS)  ## measurements, each with what it compares to
	@for file in benchmarks/bench_*.py; do echo "== $$file"; PYTHONPATH=. $(BIN)/python $$file || exit 1; done

bench-cli: $(READY) $(PEERS)  ## whole commands next to kcat, franz-go, confluent-kafka, aiokafka and Java; writes benchmarks/commands.md; options by BENCH_CLI='...'
	@command -v kcat > /dev/null || apt-get install --yes --quiet kcat
	PYTHONPATH=. $(BIN)/python benchmarks/bench_cli.py --write-page $(BENCH_CLI)

bench-lateness: $(READY)  ## how late whole commands end after their timeouts, on a cluster that answers nothing
	PYTHONPATH=. $(BIN)/python benchmarks/bench_lateness.py

bench-peers: $(READY) $(PEERS)  ## deadlines next to kafka-python, aiokafka, confluent-kafka and the Java client
	PYTHONPATH=. $(BIN)/python benchmarks/bench_deadlines.py --peers
	PYTHONPATH=. $(BIN)/python benchmarks/bench_consumer_deadlines.py --peers
	PYTHONPATH=. $(BIN)/python benchmarks/bench_producer_deadlines.py --peers
	PYTHONPATH=. $(BIN)/python benchmarks/bench_bootstrap.py --peers

$(PEERS):
	$(PYTHON) -m venv $(dir $@)
	$(dir $@)bin/python -m pip install --quiet --disable-pip-version-check aiokafka confluent-kafka kafka-python
	@touch $@

clean:  ## remove the environment and what was built
	rm -rf $(VENV) build dist *.egg-info
