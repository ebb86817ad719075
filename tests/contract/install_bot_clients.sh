#!/usr/bin/env bash
# Installs aiogram and python-telegram-bot into an environment of their own that git ignores; safe to repeat.
set -euo pipefail

cd "$(dirname "$0")/../.."
folder=.tools/bot-clients
wanted="aiogram==3.31.0 python-telegram-bot==22.8"
export PIP_DISABLE_PIP_VERSION_CHECK=1

python=.venv/bin/python
[ -x "$python" ] || python=${PYTHON:-python3}

# The stamp is written last, so an installation that was cut off is made anew.
if [ "$(cat "$folder/installed" 2>/dev/null)" != "$wanted" ]; then
  "$python" -m venv --clear --without-pip "$folder"
  # shellcheck disable=SC2086
  "$python" -m pip --python "$folder/bin/python" install -qq $wanted
  echo "$wanted" >"$folder/installed"
fi
