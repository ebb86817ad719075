#!/usr/bin/env bash
# Installs the real agent's ACP adapter for the tests in tests/e2e, into a folder that git ignores; safe to repeat.
set -euo pipefail

cd "$(dirname "$0")/../.."
folder=.tools/agent
package=@agentclientprotocol/claude-agent-acp
version=0.49.0

installed() {
  [ -x "$folder/node_modules/.bin/claude-agent-acp" ] &&
    grep -q "\"version\": \"$version\"" "$folder/node_modules/$package/package.json"
}

if ! command -v npm >/dev/null; then
  echo "npm is not there: the tests with a real agent will be skipped" >&2
  exit 0
fi
if ! installed; then
  mkdir -p "$folder"
  npm install --prefix "$folder" --no-audit --no-fund --no-save --ignore-scripts "$package@$version"
fi
