# Everything runs in .venv, which the first target that needs it makes. `wheel` needs no more of it than pip.
#
#   make PYTHON=/path/to/python3 …   another interpreter for .venv
#   make EXTRAS=dev,gitlab,shop,tokens …    other extras of the package (see pyproject.toml)

# The suite starts Python hundreds of times; without byte code each would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

EXTRAS ?= dev,gitlab,shop
BIN := .venv/bin

# The demo: what pytest is called with. --run-dir and --alluredir are added by scripts/demo.py. No verdicts on the
# terminal: the reports show better how an agent without a model goes wrong.
# Of each kind one or two tasks, some that the agent passes and some that it doesn't: enough to look at, soon at its end.
DEMO_KINDS := into-basket or choose-size or product-detail or lowest-rating or narrowed-search or month-of-event
DEMO_MORE := candles or socks or windbreaker or teapot or lantern or steam
DEMO_TASKS := ($(DEMO_KINDS)) and not ($(DEMO_MORE))
DEMO_FILES := $(addprefix tasks/, homepage/navigation.yaml $(addprefix shopping/, content.yaml navigation.yaml products.yaml))
DEMO ?= $(DEMO_FILES) -k "$(DEMO_TASKS)" --agent=oracle --agent=reader -n 2 --tb=no -rN
# The suite: which tests, and how. One worker more than cores, because tests with a browser or an engine wait now and then
# (measured on two cores: 631 s with three workers, 710 s with four), at most eight: each has browsers of its own. For a
# part of the suite, call pytest (CONTRIBUTING.md).
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
TIER := -m "not exhaustive"
SUITE ?= tests -n $(shell echo $$(($(CORES) > 7 ? 8 : $(CORES) + 1)))

# The audit: which tasks, and how.
AUDIT ?= tasks -n 2

# Which clients of the browser endpoint are tried; default: all. Each is installed from its registry, in examples/clients.
CLIENTS ?=

# Which widgets are compared with raw Playwright; default: all. Their packages are installed from npm, in tests/widgets.
WIDGETS ?=

.PHONY: help setup demo test test-all full-chromium test-changed suite audit clients widgets lint types format docs site pictures wheel dist try-wheel clean distclean
.DEFAULT_GOAL := help

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/installed: pyproject.toml scripts/venv
	@scripts/venv '$(EXTRAS)'
	@touch $@

.venv/demo: pyproject.toml scripts/venv
	@[ .venv/installed -nt pyproject.toml ] || scripts/venv shop
	@touch $@

.venv/site: pyproject.toml scripts/venv
	@scripts/venv site
	@touch $@

setup: .venv/installed ## Make .venv and see to a browser; says what it installs
	@scripts/browser

demo: .venv/demo ## Run the main job on the embedded sites and build its report; needs less than the suite
	@scripts/browser
	@$(BIN)/python scripts/demo.py $(DEMO)

# Mypy uses one core for 45 s, so the suite starts meanwhile.
test: ## Set up, then lint, types and a test of every behaviour: ten minutes on two cores
	@$(MAKE) --no-print-directory --jobs=2 lint types suite TIER='$(TIER)'

test-all: TIER :=
test-all: tests/widgets/node_modules/.package-lock.json full-chromium test clients ## The same with the exhaustive tests, other Pythons and other tools' agents: an hour
	@$(BIN)/python scripts/unit_versions.py

full-chromium:
	@scripts/chromium

test-changed: setup ## The tests nearest to what changed since main: two minutes
	@files=$$($(BIN)/python scripts/changed_tests.py) && [ -z "$$files" ] || \
	    scripts/with-docker $(BIN)/python -m pytest $$files -n 3 $(TIER) -q

suite: setup ## The tests alone; with a Docker engine where one can be had
	@scripts/with-docker $(BIN)/python -m pytest $(SUITE) $(TIER) -raR --junitxml=test-results/junit.xml

audit: setup ## Put all shipped tasks on trial: right solutions pass, wrong ones fail (an hour on two cores)
	@$(BIN)/python -m pytest --audit $(AUDIT)

clients: setup ## Agents of other tools do a task, and it is replayed; a part: make clients CLIENTS=puppeteer
	@$(BIN)/python -m examples.clients.run $(CLIENTS)

tests/widgets/node_modules/.package-lock.json: tests/widgets/package-lock.json .venv/installed
	@$(BIN)/python -m tests.widgets.site

widgets: setup tests/widgets/node_modules/.package-lock.json ## Compare observations and actions with raw Playwright on widgets; a part: make widgets WIDGETS=ace
	@$(BIN)/python -m tests.widgets.table $(WIDGETS)

lint: .venv/installed ## Ruff: rules and format
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: .venv/installed ## Mypy, strict
	@$(BIN)/mypy

format: .venv/installed ## Put the code into Ruff's format and fix what can be fixed
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

docs: .venv/installed ## Write the JSON schemas, the references of both formats and the tables anew
	@$(BIN)/python -m pytest_webarena.tasks.reference
	@$(BIN)/python -m pytest_webarena.sites.catalogues.reference
	@$(BIN)/python -m pytest_webarena.sites.catalogues.embedded_reference
	@$(BIN)/python -m pytest_webarena.browser.observation.reference
	@$(BIN)/python -m pytest_webarena.plugin.options_reference

site: .venv/site ## Build the documentation into site/; broken links and anchors are errors
	@$(BIN)/python scripts/build_site.py site

pictures: setup ## Make the pictures of the documentation anew (docs/images)
	@$(BIN)/python scripts/pictures.py

wheel: ## Build the wheel into dist/
	@scripts/venv
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

dist: setup ## Build the wheel and the source distribution into dist/
	@rm -rf dist
	@$(BIN)/python -m hatchling build -d dist

try-wheel: setup wheel ## Follow the tutorial with the built wheel, in an empty environment
	@$(BIN)/python scripts/try_wheel.py

clean: ## Remove what runs and builds left behind
	rm -rf build dist demo site webarena-runs test-results allure-results allure-report .mypy_cache .ruff_cache .hypothesis
	rm -rf examples/clients/.runs
	find . -path './.venv*' -prune -o -type d \( -name __pycache__ -o -name .pytest_cache \) -exec rm -rf {} +

distclean: clean ## The same, and .venv
	rm -rf .venv .venv-3.* .venv-wheel examples/.envs
