"""Installs three apps by command, uses them through the stdio server, and takes them away again.

Arguments: spexus, duvet, node, the folder of server-everything, troublemaker.
"""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading

spexus, duvet, node, everything, troublemaker = (os.path.abspath(path) for path in sys.argv[1:])
repository = os.getcwd()
PATIENCE = 60


class Host:
    """A client of a process that speaks MCP on its pipes."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.lines = queue.Queue()
        self.next = 0
        self.heard = []
        threading.Thread(target=self.read, daemon=True).start()
        self.request(
            "initialize",
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "apps.py", "version": "1"}},
        )
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def start(self, method, params):
        self.next += 1
        self.send({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params})
        return self.next

    def answer(self, number):
        mine = [message for message in self.heard if message.get("id") == number and "method" not in message]
        while not mine:
            message = self.lines.get(timeout=PATIENCE)
            if message.get("id") == number and "method" not in message:
                return message
            self.heard.append(message)
        self.heard.remove(mine[0])
        return mine[0]

    def request(self, method, params=None):
        answer = self.answer(self.start(method, params or {}))
        assert "result" in answer, (method, params, answer)
        return answer["result"]

    def call(self, name, **arguments):
        return self.request("tools/call", {"name": name, "arguments": arguments})

    def until(self, method):
        while not any(message.get("method") == method for message in self.heard):
            self.heard.append(self.lines.get(timeout=PATIENCE))

    def all(self, method, member, key):
        found, cursor = [], None
        while True:
            page = self.request(method, {"cursor": cursor} if cursor else {})
            found += [entry[key] for entry in page[member]]
            cursor = page.get("nextCursor")
            if not cursor:
                return found


def proved(*ids):
    """Says what was shown, for `xtask results`."""
    for one in ids:
        print(f"proved {one} {os.path.basename(__file__)}", flush=True)


def run(*arguments):
    command = [spexus, *arguments, "--database", database, "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return json.loads(done.stdout)


def manifest(name, command, *arguments, **more):
    server = {"type": "binary", "entry_point": "x", "mcp_config": {"command": command, "args": list(arguments)}}
    text = {"manifest_version": "0.3", "name": name, "version": "1.0.0", "description": f"The app {name}."}
    path = os.path.join(home, f"{name}.json")
    with open(path, "w") as file:
        json.dump({**text, "author": {"name": "CI"}, "server": server, **more}, file)
    return path


with tempfile.TemporaryDirectory() as home:
    database = f"sqlite:{home}/spexus.db"
    environment = {"PATH": os.environ["PATH"], "HOME": home, "SPEXUS_ADMIN_PASSWORD": "correct horse battery", "LOG_LEVEL": "error"}
    run("init")
    promised = [{"name": "search_requirements"}, {"name": "resolve_spec_id"}]
    run("app", "install", manifest("duvet", duvet, "mcp", "--root", repository, tools=promised))
    run("app", "install", manifest("everything", node, f"{everything}/dist/index.js", "stdio", capabilities=["tools", "resources", "prompts"]))
    run("app", "install", manifest("trouble", troublemaker))
    listed = {app["name"]: app for app in run("app", "list")["data"]}
    assert sorted(listed) == ["duvet", "everything", "trouble"], listed

    host = Host([spexus, "mcp", "--scope", "admin", "--database", database], environment)
    # proves 002 Req-App-001, 002 Req-App-002: each with its name, version, description and capabilities
    for app in host.request("apps/list")["apps"]:
        assert app["version"] == "1.0.0" and app["description"] and app["capabilities"]["tools"], app
    proved("002 Req-App-001", "002 Req-App-002")
    tools = host.all("tools/list", "tools", "name")
    for name in ["create_epic", "duvet_search_requirements", "everything_echo", "trouble_echo"]:
        assert name in tools, (name, tools)

    found = host.call("duvet_search_requirements", query="app")
    assert "full_path" in json.dumps(found), found
    assert "hello" in host.call("everything_echo", message="hello")["content"][0]["text"]
    print("ok: tools of duvet and server-everything")

    resources = host.all("resources/list", "resources", "uri")
    ours = [uri for uri in resources if uri.startswith("app://")]
    assert any(uri.startswith("app://duvet/duvet:/") for uri in ours), ours
    some = next(uri for uri in ours if uri.startswith("app://everything/"))
    for uri in ["app://duvet/duvet:/specifications", some]:
        contents = host.request("resources/read", {"uri": uri})["contents"]
        assert contents and contents[0]["uri"].startswith("app://"), contents
    templates = host.all("resources/templates/list", "resourceTemplates", "uriTemplate")
    assert "app://everything/{+address}" in templates, templates
    prompts = host.all("prompts/list", "prompts", "name")
    simple = next(name for name in prompts if name.startswith("everything_simple"))
    assert host.request("prompts/get", {"name": simple})["messages"], simple
    print("ok: resources and prompts")

    # proves 002 Req-App-005: an app that dies again and again is no concern of the others
    for number in range(100):
        crash = host.start("tools/call", {"name": "trouble_crash", "arguments": {}})
        others = [
            host.start("tools/call", {"name": "everything_echo", "arguments": {"message": str(number)}}),
            host.start("tools/call", {"name": "duvet_resolve_spec_id", "arguments": {"url": "specs/mcp-apps.md"}}),
        ]
        for one in others:
            answer = host.answer(one)
            assert not answer["result"].get("isError"), answer
        refused = host.answer(crash)["error"]
        assert refused["code"] in (1080, 1086), refused
    status = {app["name"]: app["servers"][0] for app in run("app", "status")["data"]}
    assert status["everything"]["restarts"] == 0 and status["duvet"]["restarts"] == 0, status
    assert status["trouble"]["restarts"] > 0, status
    print(f"ok: {status['trouble']['restarts']} crashes of one app, 200 calls to the others")
    proved("002 Req-App-005")

    # proves 002 Req-App-004
    host.heard.clear()
    run("app", "remove", "everything")
    host.until("notifications/tools/list_changed")
    assert not any(name.startswith("everything_") for name in host.all("tools/list", "tools", "name"))
    processes = [server["process"] for server in status.values() if "process" in server]
    host.process.stdin.close()
    assert host.process.wait(timeout=PATIENCE) == 0
    left = [number for number in processes if os.path.exists(f"/proc/{number}")]
    assert not left, left
    print("ok: removed while it ran, and nothing is left behind")
    proved("002 Req-App-004")
