.PHONY: help setup demo test long chaos tamper eval lint lock docs clean histories bench image
.DEFAULT_GOAL := help

help:
	@echo "make demo    verify the example: a claim that is refused, then one that is verified"
	@echo "make test    format, lint, types, layers, house rules, then every test"
	@echo "make long    every test, the slow ones, too"
	@echo "make chaos   kill -9 and full disks during many rounds and todos' lives; SEED=, TODOS=, KILLS=, ROUNDS=, FAULTS="
	@echo "make tamper  cheating and honest claims, all of them, and what names each; ONLY= chooses families or claims"
	@echo "make eval    measure the verifier on the same claims, about an hour; ONLY= as above"
	@echo "make lint    the same without the tests"
	@echo "make lock    remake the lock files from pyproject.toml"
	@echo "make bench   measure speed and memory, 20 minutes; ONLY=starts,trails for parts, QUICK=1 to see it work"
	@echo "make docs    remake the parts of the documentation that come from the code"
	@echo "make image   build the worker's image, countersign-worker:latest; TAG= and BASE= choose others (docs/deploying.md)"
	@echo "make clean   remove the virtual environment and every cache; the evidence and the trail stay"

setup:
	@scripts/setup $(extent)

demo: setup
	@scripts/demo

test long chaos: extent := --tests

test: lint
	scripts/test -m "not slow"

long: lint
	COUNTERSIGN_SEARCH=1 scripts/test

chaos: setup
	CHAOS_SEED=$(or $(SEED),20260115) CHAOS_TODOS=$(or $(TODOS),200) CHAOS_KILLS=$(or $(KILLS),100) \
		CHAOS_ROUNDS=$(or $(ROUNDS),60) CHAOS_FAULTS=$(or $(FAULTS),40) \
		.venv/bin/pytest -p no:cacheprovider -s -m slow tests/chaos

tamper: setup
	TAMPER="$(ONLY)" TAMPER_PAGE=docs/tampering.md .venv/bin/pytest -p no:cacheprovider -s -m slow tests/tamper

# Exit code 3 is what it ends with: of one claim, whose repository is broken, nothing can be told.
eval: setup
	rm -rf build/eval && .venv/bin/python -m scripts.tamper_dataset build/eval "$(ONLY)"
	.venv/bin/countersign eval build/eval/tests-alone.yaml --output build/eval/tests-alone.json || [ $$? -eq 3 ]
	.venv/bin/countersign eval build/eval/out-of-process.yaml --output build/eval/out-of-process.json || [ $$? -eq 3 ]

lint: setup
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	.venv/bin/python scripts/house

lock: setup
	scripts/lock

histories: setup
	.venv/bin/python -m scripts.export_histories $(ONLY)

bench: setup
	.venv/bin/python -m bench $(if $(ONLY),--only $(ONLY)) $(if $(QUICK),--quick)

image:
	BASE=$(BASE) deploy/build-image $(TAG)

docs: setup
	.venv/bin/python scripts/generate_docs.py

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
