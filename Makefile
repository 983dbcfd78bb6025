.PHONY: help setup demo test long lint lock docs clean histories
.DEFAULT_GOAL := help

help:
	@echo "make demo    verify the example: a claim that is refused, then one that is verified"
	@echo "make test    format, lint, types, layers, then every test"
	@echo "make long    every test, the slow ones, too"
	@echo "make lint    the same without the tests"
	@echo "make lock    remake the lock files from pyproject.toml"
	@echo "make docs    remake the parts of the documentation that come from the code"
	@echo "make clean   remove the virtual environment and every cache; the evidence and the trail stay"

setup:
	@scripts/setup

demo: setup
	@scripts/demo

test: lint
	scripts/test -m "not slow"

long: lint
	scripts/test

lint: setup
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports

lock: setup
	scripts/lock

histories: setup
	.venv/bin/python -m scripts.export_histories

docs: setup
	.venv/bin/python scripts/generate_docs.py

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
