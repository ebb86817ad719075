#!/usr/bin/env bash
# Makes .venv hold what a purpose needs (`run` or `dev`) and the project itself; safe to repeat.
set -euo pipefail

purpose=${1:?which requirements: run or dev}
python=${PYTHON:-python3}
export PIP_DISABLE_PIP_VERSION_CHECK=1

require_python() {
  if ! "$python" -c 'import sys' 2>/dev/null; then
    echo "the-loop needs Python 3.11 or newer, and '$python' does not run. Name one: make PYTHON=/path/to/python3 ..." >&2
    exit 1
  fi
  "$python" - <<'PYTHON'
import sys

if sys.version_info < (3, 11):
    found = ".".join(str(part) for part in sys.version_info[:3])
    sys.exit(
        "the-loop needs Python 3.11 or newer; %s is %s. Name one: make PYTHON=/path/to/python3 ..."
        % (sys.executable, found)
    )
PYTHON
}

# Some systems ship venv without what it needs to put pip inside; their own pip can do that.
make_venv() {
  echo "Making .venv with $("$python" --version)"
  "$python" -m venv --clear .venv >/dev/null 2>&1 && return
  "$python" -m venv --clear --without-pip .venv
  "$python" -m pip --python .venv/bin/python install -qq pip
}

if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
  require_python
  make_venv
fi

echo "Installing what '$purpose' needs (requirements/$purpose.txt)"
.venv/bin/python -m pip install -qq --require-hashes -r "requirements/$purpose.txt"
if [ "$purpose" = run ]; then
  .venv/bin/python -m pip install -qq --no-deps --editable .
fi
