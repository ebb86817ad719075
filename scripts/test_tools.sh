#!/usr/bin/env bash
# Installs what only tests use and Python cannot bring; what is missing is said, and its tests skip themselves.
set -uo pipefail

examples_version=7.6.1
pino_pretty_version=13.2.0

# Node does not look at the system's own list of authorities unless it is told to; pip and apt do.
authorities=/etc/ssl/certs/ca-certificates.crt
if [ -z "${NODE_EXTRA_CA_CERTS:-}" ] && [ -r "$authorities" ]; then export NODE_EXTRA_CA_CERTS=$authorities; fi

have() { command -v "$1" >/dev/null 2>&1; }

missing() { echo "Not installed: $1. Tests that need it are skipped and say so."; }

# Where `timeout` exists, a registry that never answers does not hold the tests up.
bounded() {
  if have timeout; then timeout 600 "$@"; else "$@"; fi
}

system_packages() {
  local wanted=()
  have git || wanted+=(git)
  have tmux || wanted+=(tmux)
  [ "${#wanted[@]}" -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ] || ! have apt-get; then
    missing "${wanted[*]}"
    return
  fi
  echo "Installing ${wanted[*]}"
  { bounded apt-get update -qq && DEBIAN_FRONTEND=noninteractive bounded apt-get install -y -qq "${wanted[@]}"; } \
    >/dev/null 2>&1 </dev/null || missing "${wanted[*]}"
}

payload_examples() {
  local folder=.tools/webhooks-examples
  local manifest=$folder/node_modules/@octokit/webhooks-examples/package.json
  grep -qs "\"version\": \"$examples_version\"" "$manifest" && return
  echo "Installing GitHub's payload examples"
  mkdir -p "$folder"
  bounded npm install --silent --no-save --no-package-lock --ignore-scripts --prefix "$folder" \
    "@octokit/webhooks-examples@$examples_version" >/dev/null 2>&1 </dev/null || missing "GitHub's payload examples"
}

pino_pretty() {
  local folder=.tools/pino-pretty
  grep -qs "\"version\": \"$pino_pretty_version\"" "$folder/node_modules/pino-pretty/package.json" && return
  echo "Installing pino-pretty, to read our log with"
  mkdir -p "$folder"
  bounded npm install --silent --no-save --no-package-lock --ignore-scripts --prefix "$folder" \
    "pino-pretty@$pino_pretty_version" >/dev/null 2>&1 </dev/null || missing "pino-pretty"
}

real_agent() {
  local installer=tests/e2e/install_agent.sh
  [ -f "$installer" ] || return
  echo "Installing a real agent"
  bounded bash "$installer" >/dev/null 2>&1 </dev/null || missing "a real agent"
}

bot_clients() {
  local installer=tests/contract/install_bot_clients.sh
  [ -f "$installer" ] || return
  echo "Installing Telegram bot libraries to try the stand-in Bot API server with"
  bounded bash "$installer" >/dev/null 2>&1 </dev/null || missing "Telegram bot libraries"
}

mkdir -p .tools
system_packages
bot_clients
if have node && have npm; then
  payload_examples
  pino_pretty
  real_agent
else
  missing "Node, and with it GitHub's payload examples, pino-pretty and a real agent"
fi
exit 0
