#!/bin/sh
# Makes what `npm ci --ignore-scripts` installed ready to run: VS Code's own packages, and of their native parts those that it does not start
# without. Headers of Node.js come from the system (libnode-dev), the search program from it too (ripgrep): npm's would be fetched from elsewhere.
set -eu
cd "$(dirname "$0")/node_modules/code-server/lib/vscode"
export npm_config_nodedir="${npm_config_nodedir:-/usr}"
export npm_config_yes=true # the build of node-pty has npx fetch node-gyp
npm ci --omit=dev --ignore-scripts --no-audit --no-fund --silent 2>/dev/null || npm install --omit=dev --ignore-scripts --no-audit --no-fund --silent
npm rebuild --silent @vscode/spdlog native-watchdog node-pty
mkdir -p node_modules/@vscode/ripgrep/bin
ln -sf "$(command -v rg)" node_modules/@vscode/ripgrep/bin/rg
cd ../../../argon2
../.bin/node-pre-gyp install --build-from-source --nodedir="$npm_config_nodedir" >/dev/null
