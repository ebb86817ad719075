#!/usr/bin/env bash
# Writes requirements/ anew from pyproject.toml, with hashes and without the address of any index.
set -euo pipefail

compile() {
  .venv/bin/python -m uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-header pyproject.toml "$@"
}

.venv/bin/python -m pip install -qq uv
compile -o requirements/run.txt
compile -c requirements/run.txt --group dev -o requirements/dev.txt
