"""What an outside review once did to a running server, done again from outside: every attack must be refused or harmless.

    demonstrations.py PROGRAM DATABASE_URL

Starts PROGRAM on an empty database and prints `held NAME` or `HOLE NAME: what was seen` for each. Ends with 1 when there is a hole.
The names are those of the findings in docs/security.md. Needs nothing but Python; `psql` for what a foreign lock does on PostgreSQL.
"""

import json
import os
import re
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

PASSWORD = "correct horse battery"


class Server:
    def __init__(self, program, database, folder):
        self.program, self.database, self.folder = program, database, folder
        self.environment = {**os.environ, "HOME": folder, "SPEXUS_ADMIN_PASSWORD": PASSWORD, "SPEXUS_DATABASE": database}
        self.run("init")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = open(f"{folder}/serve.log", "w")
        listen = f"127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            [program, "serve", "--listen", listen], env=self.environment, stdout=self.log, stderr=self.log
        )
        for _ in range(200):
            try:
                if self.rest("GET", "/health/ready", token=None, base="")[0] == 200:
                    break
            except OSError:
                pass
            time.sleep(0.1)
        self.admin = self.token("admin")

    def run(self, *arguments, check=True):
        done = subprocess.run([self.program, *arguments], env=self.environment, capture_output=True, text=True, timeout=300)
        if check and done.returncode:
            raise RuntimeError(f"{arguments}: {done.stdout}{done.stderr}")
        return done

    def token(self, scope, project=None):
        name = f"t{time.time_ns()}"
        bound = ["--project", project] if project else []
        return self.run("token", "create", "--user", "admin", "--name", name, "--scope", scope, *bound).stdout.strip()

    def rest(self, method, path, body=None, token="", base="/api/v1", headers=None, timeout=60):
        token = self.admin if token == "" else token
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{base}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                text = answer.read().decode()
                return answer.status, parse(text), answer.headers
        except urllib.error.HTTPError as refused:
            return refused.code, parse(refused.read().decode()), refused.headers

    def make(self, kind, project=None, token="", **fields):
        query = f"?project={project}" if project else ""
        status, item, _ = self.rest("POST", f"/{kind}{query}", fields, token)
        if status != 201:
            raise RuntimeError(f"{kind}: {status} {item}")
        return item

    def changes(self, token=""):
        return self.rest("GET", "/changes?limit=1000", token=token)[1]

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


class Client:
    """One MCP client over HTTP, in the handshake era."""

    def __init__(self, server, token="", version="2025-11-25", capabilities=None, headers=None):
        self.server, self.token, self.headers = server, token or server.admin, dict(headers or {})
        hello = {
            "protocolVersion": version,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "review", "version": "1"},
        }
        answer, given = self.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
        self.hello = answer
        session = given.get("mcp-session-id")
        self.headers["mcp-protocol-version"] = version
        if session:
            self.headers["mcp-session-id"] = session
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def open(self, message, timeout=60):
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **self.headers,
        }
        url = f"http://127.0.0.1:{self.server.port}/api/v1/mcp"
        request = urllib.request.Request(url, json.dumps(message).encode(), headers, method="POST")
        return urllib.request.urlopen(request, timeout=timeout)

    def post(self, message, timeout=60):
        try:
            with self.open(message, timeout) as answer:
                text = answer.read().decode()
                given = answer.headers
        except urllib.error.HTTPError as refused:
            text, given = refused.read().decode(), refused.headers
        if given.get("content-type", "").startswith("text/event-stream"):
            said = [parse(line[5:]) for line in text.splitlines() if line.startswith("data:") and line[5:].strip()]
            return (said[-1] if said else None), given
        return parse(text), given

    def call(self, method, params=None, timeout=60):
        return self.post({"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}}, timeout)[0]

    def tool(self, name, **arguments):
        return self.call("tools/call", {"name": name, "arguments": arguments})

    def tool_answering_yes(self, name, **arguments):
        """Calls a tool and agrees to whatever a person is asked meanwhile; gives the questions and the answer."""
        asked, message = [], {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        with self.open(message) as stream:
            if not stream.headers.get("content-type", "").startswith("text/event-stream"):
                return asked, parse(stream.read().decode())
            for line in stream:
                if not line.startswith(b"data:") or not line[5:].strip():
                    continue
                said = parse(line[5:].decode())
                if said.get("method") == "elicitation/create":
                    asked.append(said["params"]["message"])
                    names = said["params"].get("requestedSchema", {}).get("properties", {})
                    yes = {name: True for name in names}
                    self.post({"jsonrpc": "2.0", "id": said["id"], "result": {"action": "accept", "content": yes}})
                elif said.get("id") == 9:
                    return asked, said
        return asked, None


def parse(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def batches_stay_in_their_project(server):
    """A-D1"""
    server.make("epics", title="somebody else's")
    operations = [
        {"tool": "create_epic", "arguments": {"title": "W", "project": "web"}, "ref": "epic"},
        {"tool": "create_user_story", "arguments": {"epic_id": "@epic", "title": "meant for web"}},
        {"tool": "add_comment", "arguments": {"id": "@epic", "content": "meant for web"}},
        {"tool": "update_epic", "arguments": {"epic_id": "@epic", "expect_rev": "@epic.rev", "priority": 1}},
    ]
    Client(server).call("batch/execute", {"operations": operations})
    stories = server.rest("GET", "/user-stories?project=default&limit=200")[1]["data"]
    touched = [story["reference_id"] for story in stories if story["title"] == "meant for web"]
    return touched and f"the project default got {touched}"


def consent_deletes_what_was_shown(server):
    """A-D2"""
    def story(project):
        epic = server.make("epics", project, title=f"{project}'s")
        made = server.make("user-stories", project, title=f"{project}'s", parent=epic["id"])
        wanted = server.make("requirements", project, title=f"{project}'s", type="Functional", parent=made["id"])
        other = server.make("requirements", project, title=f"other of {project}", type="Functional", parent=made["id"])
        server.make("links", source=wanted["id"], target=other["id"], type="depends_on")
        return wanted

    twins = {}
    while not twins or twins["default"]["reference_id"] != twins["web"]["reference_id"]:
        behind = "web" if twins and int(twins["web"]["reference_id"][4:]) < int(twins["default"]["reference_id"][4:]) else "default"
        twins = {**twins, behind: story(behind)} if twins else {"default": story("default"), "web": story("web")}
    client = Client(server, capabilities={"elicitation": {}})
    asked, _ = client.tool_answering_yes("delete_item", id=twins["web"]["id"])
    status = server.rest("GET", f"/requirements/{twins['default']['id']}")[0]
    if status != 200:
        return f"default's {twins['default']['reference_id']} was deleted; asked: {asked}"
    if server.rest("GET", f"/requirements/{twins['web']['id']}")[0] == 200:
        return f"what the person agreed to was not done; asked: {asked}"
    return (not asked or "web" not in asked[0]) and f"the question names no project: {asked}"


def reading_batches_stop_no_write(server):
    """A-D3"""
    reader = Client(server, server.token("read"))
    operations = [{"tool": "status_report", "arguments": {}}] * 200
    batch = threading.Thread(target=reader.call, args=("batch/execute", {"operations": operations}, 120))
    batch.start()
    slowest = 0
    while batch.is_alive():
        began = time.monotonic()
        status, answer, _ = server.rest("POST", "/epics", {"title": "written meanwhile"})
        slowest = max(slowest, time.monotonic() - began)
        if status != 201:
            return f"a write was refused: {status} {answer}"
    batch.join()
    return slowest > 3 and f"a write waited for {slowest:.1f} s"


def changes_obey_their_project(server):
    """A-D4"""
    title = f"for web {time.time_ns()}"
    change = {"op": "create", "kind": "epic", "title": title, "project": "web"}
    Client(server, headers={"x-spexus-toolsets": "all"}).tool("apply_changes", operations=[change])
    found = [epic for epic in server.rest("GET", "/epics?project=default&limit=200")[1]["data"] if epic["title"] == title]
    return found and f"apply_changes wrote {found[0]['reference_id']} into default"


def prompts_obey_their_project(server):
    """A-D4"""
    requirement = server.rest("GET", "/requirements?project=default&limit=1")[1]["data"][0]
    arguments = {"requirement_id": requirement["reference_id"], "project": "web"}
    text = json.dumps(Client(server).call("prompts/get", {"name": "analyze_requirement_quality", "arguments": arguments}))
    return json.dumps(requirement["title"])[1:-1] in text and "project web was asked for, default answered"


def bound_tokens_hear_nothing_else(server):
    """A-D5"""
    epic = server.make("epics", title="not for web")
    bound = Client(server, server.token("read", "web"))
    heard = [uri for uri in (f"epic://{epic['id']}", f"epic://{epic['reference_id']}x") if "error" not in bound.call("resources/subscribe", {"uri": uri})]
    return heard and f"subscribed to {heard}"


def bound_tokens_read_no_linked_text(server):
    """A-D5"""
    secret = f"TOPSECRET {time.time_ns()}"

    def requirement(project, title):
        epic = server.make("epics", project, title="e")
        story = server.make("user-stories", project, title="s", parent=epic["id"])
        return server.make("requirements", project, title=title, type="Functional", parent=story["id"])

    here, there = requirement("web", "mine"), requirement("default", secret)
    server.make("links", source=here["id"], target=there["id"], type="depends_on")
    token = server.token("read", "web")
    client = Client(server, token)
    seen = {
        "REST": server.rest("GET", f"/requirements/{here['id']}/links", token=token)[1],
        "relationships": client.call("resources/read", {"uri": f"requirement://{here['reference_id']}/relationships"}),
        "prompt": client.call("prompts/get", {"name": "identify_dependencies", "arguments": {"requirement_id": here["reference_id"]}}),
        "changes": server.changes(token),
    }
    told = [where for where, answer in seen.items() if secret in json.dumps(answer)]
    return told and f"the title of the other project's item is in: {told}"


def arrays_multiply_nothing(server):
    """A-D6"""
    client = Client(server, server.token("read"))
    calls = [{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in range(50)]
    answer, _ = client.post(calls)
    if isinstance(answer, list) and any("result" in one for one in answer):
        return "2025-11-25 has no arrays, and one was carried out"
    old = Client(server, server.token("read"), "2025-03-26")
    passed, began = 0, time.monotonic()
    for _ in range(12):
        calls = [{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "list_epics", "arguments": {"limit": 1}}} for n in range(1000)]
        answer, _ = old.post(calls, 120)
        passed += sum("result" in one for one in answer) if isinstance(answer, list) else 0
    took = time.monotonic() - began
    return passed > 6000 + 100 * took + 200 and f"{passed} calls in {took:.0f} s of a token that has 6,000 a minute"


def answers_to_agents_end(server):
    """A-D7"""
    epic = server.make("epics", title="long")
    story = server.make("user-stories", title="long", parent=epic["id"])
    for number in range(60):
        server.make("requirements", title=f"long {number}", type="Functional", parent=story["id"], description="word " * 4000)
    answer = Client(server).tool("list_requirements", detail="full", limit=200)
    size = len(json.dumps(answer))
    return size > 300_000 and f"an answer of {size} bytes"


def foreign_pages_are_refused(server):
    """A-1"""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    seen = []
    for headers in ({"Origin": "http://evil.example.com"}, {"Origin": "null"}, {"Host": "evil.example.com"}):
        status, _, _ = server.rest("POST", "/mcp", message, headers={"Accept": "application/json, text/event-stream", **headers})
        seen += [f"{headers}: {status}"] if status != 403 else []
    return seen and f"served {seen}"


def printed_priorities_are_taken(server):
    """A-D9"""
    answer = Client(server).tool("create_epic", title="as printed", priority="P1")
    return ("error" in answer or answer["result"].get("isError")) and "priority P1, as lists print it, is refused"


def gaps_are_counted_to_their_end(server):
    """B-H1, B-H2"""
    server.run("demo", "--items", "9000")
    began = time.monotonic()
    reports = [threading.Thread(target=server.rest, args=("GET", "/reports/gaps")) for _ in range(4)]
    for report in reports:
        report.start()
    status, answer, _ = server.rest("GET", "/epics?limit=1")
    if status != 200:
        return f"a read beside four reports: {status} {answer}"
    for report in reports:
        report.join()
    took = time.monotonic() - began
    report = server.rest("GET", "/reports/gaps")[1]
    text = json.dumps(report)
    exported = server.run("export", "--format", "jsonl").stdout.splitlines()
    items = [parse(line) for line in exported]
    bare = sum(1 for item in items if item.get("kind") == "requirement" and not item.get("acceptance_criterion") and not item.get("deleted_at"))
    numbers = [int(number) for number in re.findall(r'"(?:total_count|count|total)": (\d+)', text)]
    if bare > 1000 and bare not in numbers:
        return f"{bare} requirements have no criterion; the report says {numbers}"
    return took > 25 and f"four reports of 9,000 items took {took:.0f} s"


def search_totals_are_no_guess(server):
    """B-M4"""
    answer = server.rest("GET", "/search?query=system&limit=1")[1]
    if answer.get("total_count") is None:
        return False
    exact = server.rest("GET", "/search?query=system&limit=1&count=exact")
    if exact[0] != 200:
        return answer["total_count"] == 1000 and "1,000 is called the total"
    return answer["total_count"] != exact[1]["total_count"] and f"{answer['total_count']} of {exact[1]['total_count']}"


def strangers_do_not_fill_the_trail(server):
    """B-H6"""
    def knock():
        for _ in range(500):
            server.rest("POST", "/epics", {"title": "x"}, token="mcp_pat_" + "A" * 43)

    def trail():
        return json.loads(server.run("audit", "log", "--limit", "200", "--json").stdout)["data"]

    known = {event["id"] for event in trail()}
    knocks, began = [threading.Thread(target=knock) for _ in range(4)], time.monotonic()
    for one in knocks:
        one.start()
    for one in knocks:
        one.join()
    took = time.monotonic() - began
    grown = [event for event in trail() if event["id"] not in known]
    # One event for each reason and second.
    return len(grown) > 20 + 3 * took and f"2,000 bad tokens in {took:.0f} s became {len(grown)} events or more"


def lists_are_no_objects(server):
    """B-L2"""
    status, _, _ = server.rest("POST", "/projects", ["arr", "Arr name"])
    return status == 201 and "a list made a project"


def early_refusals_say_that_they_close(server):
    """B-L1"""
    with socket.create_connection(("127.0.0.1", server.port), 10) as peer:
        peer.sendall(b"POST /api/v1/epics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n")
        head = peer.recv(65536).decode().lower()
    return "connection: close" not in head and f"answered {head.splitlines()[0]} without `Connection: close`"


def backups_are_private(server):
    """B-H9"""
    path = f"{server.folder}/backup.db"
    server.run("backup", path)
    mode = stat.S_IMODE(os.stat(path).st_mode)
    return mode & 0o077 and f"a backup has mode {mode:o}"


def exports_obey_their_epic(server):
    """B-M10"""
    epic = server.make("epics", title="the only one that is wanted")
    rows = server.run("export", "--format", "csv", "--epic", epic["id"], check=False).stdout.count("\n")
    return rows > 10 and f"{rows} lines for an epic that holds nothing"


def formulas_are_text(server):
    """B-L5, S-M12"""
    epic = server.make("epics", title='=HYPERLINK("http://evil.example")')
    text = server.run("export", "--format", "csv", "--epic", epic["id"], check=False).stdout
    return re.search(r'(^|,)"?=HYPERLINK', text, re.M) and "a title became a formula"


def tokens_make_none_that_outlive_them(server):
    """S-M2"""
    hour = server.make("tokens", name=f"hour {time.time_ns()}", scopes=["admin"], expires="1h")
    longer = {"name": f"years {time.time_ns()}", "scopes": ["admin"], "expires": "3000d"}
    status, _, _ = server.rest("POST", "/tokens", longer, hour["token"])
    return status == 201 and "a token of an hour made one for decades"


def foreign_locks_cost_one_answer(server):
    """B-H4, B-H5"""
    url = server.database
    lock = subprocess.Popen(["psql", url, "-qAtc", "select pg_advisory_lock(75327)", "-c", "select pg_sleep(7)"], stdout=subprocess.DEVNULL)
    time.sleep(1)
    title = f"behind a lock {time.time_ns()}"
    status, _, _ = server.rest("POST", "/epics", {"title": title})
    lock.wait()
    after = server.rest("POST", "/epics", {"title": "after the lock"})[0]
    stored = [epic for epic in server.rest("GET", "/epics?limit=200&order_by=-created_at")[1]["data"] if epic["title"] == title]
    if status >= 400 and stored:
        return f"answered {status}, done later"
    return after != 201 and f"the write after the lock: {after}"


def yes_nobody_gave(server):
    """A-D9"""
    epic = server.make("epics", title="Not to be deleted")
    story = server.make("user-stories", parent=epic["reference_id"], title="Falls with it")
    arguments = {"name": "delete_item", "arguments": {"id": epic["id"]}}
    asked = stateless(server, "tools/call", arguments)
    questions = list((asked.get("result") or {}).get("inputRequests") or {})
    if not questions:
        return f"nobody was asked: {asked}"
    answer = {questions[0]: {"action": "accept", "content": {"delete": True}}}
    # The answer to a question that the server does not remember to have asked.
    stateless(server, "tools/call", {**arguments, "inputResponses": answer})
    return server.rest("GET", f"/user-stories/{story['id']}")[0] != 200 and "an answer nobody asked for deleted it"


def stateless(server, method, params):
    params["_meta"] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        "io.modelcontextprotocol/clientInfo": {"name": "review", "version": "1"},
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "mcp-name": params["name"],
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return server.rest("POST", "/mcp", message, headers=headers)[1]


def passwords_stay_out_of_hosts_logs(server):
    """A-D9"""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "review", "version": "1"}}
    lines = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n"
    environment = {name: value for name, value in server.environment.items() if name not in ("SPEXUS_ADMIN_PASSWORD", "SPEXUS_DATABASE")}
    command = [server.program, "mcp", "--database", f"sqlite:{server.folder}/embedded-{time.time_ns()}.db"]
    done = subprocess.run(command, input=lines, env=environment, capture_output=True, text=True, timeout=60)
    if '"result"' not in done.stdout:
        return f"it did not answer: {done.stdout}{done.stderr}"
    told = re.search(r"[Pp]assword\W+(?:is\W+)?([A-Za-z0-9_-]{12,})", done.stderr)
    return told and f"standard error holds a password: {told.group(0)}"


def hosts_that_do_not_read_slow_the_bridge(server):
    """A-D9"""
    backend = {"BACKEND_API_URL": f"http://127.0.0.1:{server.port}", "MCP_PAT_TOKEN": server.admin}
    environment = {**server.environment, **backend}
    environment.pop("SPEXUS_DATABASE")
    bridge = subprocess.Popen([server.program, "mcp"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "review", "version": "1"}}
        send = lambda message: bridge.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        send({"id": 0, "method": "initialize", "params": hello})
        bridge.stdin.flush()
        if b'"result"' not in bridge.stdout.readline():
            return "the bridge did not say hello"
        send({"method": "notifications/initialized"})
        asking = threading.Thread(target=ask_and_read_nothing, args=(send, bridge), daemon=True)
        asking.start()
        asking.join(20)
        held = memory_of(bridge.pid)
        return held > 150 and f"the bridge holds {held} MB for a host that does not read"
    finally:
        bridge.kill()
        bridge.wait()


def ask_and_read_nothing(send, bridge):
    try:
        for number in range(1, 3_000):
            send({"id": number, "method": "tools/list", "params": {}})
        bridge.stdin.flush()
    except OSError:
        pass  # It is killed while it keeps us waiting.


def memory_of(process):
    with open(f"/proc/{process}/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS"))


def differences_come_in_pages(server):
    """B-H3"""
    server.rest("POST", "/projects", {"key": "compared", "name": "compared"})
    server.rest("POST", "/baselines", {"name": "before", "project": "compared"})
    operations = [{"op": "create", "kind": "epic", "title": f"Epic {number}"} for number in range(300)]
    status, made, _ = server.rest("POST", "/batch", {"project": "compared", "operations": operations})
    if status != 200:
        return f"the batch: {status} {made}"
    path, seen = "/baselines/diff?from=before&project=compared&limit=200", 0
    page = server.rest("GET", path)[1]
    if len(page.get("data", [])) > 200:
        return f"{len(page['data'])} rows in one answer, whatever is asked for"
    while True:
        seen += len(page["data"])
        if not page.get("next_cursor"):
            break
        page = server.rest("GET", f"{path}&cursor={page['next_cursor']}")[1]
    exact = server.rest("GET", f"{path}&count=exact")[1].get("total_count")
    return (seen, exact) != (300, 300) and f"{seen} rows and a total of {exact} where there are 300"


def proxies_speak_for_others(server):
    """B-H7"""
    behind = Behind(server)
    try:
        login = lambda password, address: behind.login(password, address)
        for _ in range(8):
            login("not the password", "203.0.113.9")
        status = login(PASSWORD, "198.51.100.7")
        return status not in (200, 201) and f"wrong passwords of one address behind a proxy keep another one out: {status}"
    finally:
        behind.stop()


class Behind:
    """A second node of the same installation, behind a proxy on this machine."""

    def __init__(self, server):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        environment = {**server.environment, "SPEXUS_HTTP_TRUSTED_PROXIES": "127.0.0.1"}
        command = [server.program, "serve", "--listen", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(command, env=environment, stdout=server.log, stderr=server.log)
        for _ in range(200):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health/ready", timeout=5).read()
                return
            except OSError:
                time.sleep(0.1)

    def login(self, password, address):
        body = json.dumps({"username": "admin", "password": password}).encode()
        headers = {"Content-Type": "application/json", "X-Forwarded-For": address}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/v1/auth/login", body, headers)
        try:
            return urllib.request.urlopen(request, timeout=30).status
        except urllib.error.HTTPError as refused:
            return refused.code

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def absent_servers_are_told_plainly(server):
    """B-M1"""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    wanted = [(f"postgres://nobody@127.0.0.1:{port}/nothing", 69, "refused the connection")]
    if server.database.startswith("postgres"):
        there = urllib.parse.urlsplit(server.database)
        wanted.append((urllib.parse.urlunsplit(there._replace(path="/not_there")), 78, "no database"))
    for url, status, words in wanted:
        done = server.run("--database", url, "item", "list", check=False)
        if done.returncode != status or words not in done.stdout + done.stderr:
            return f"exit {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"


def doctors_tell_of_lost_writes(server):
    """B-M2"""
    if not server.database.startswith("postgres"):
        return None
    name = urllib.parse.urlsplit(server.database).path.strip("/")
    psql(server.database, f'alter database "{name}" set synchronous_commit = off')
    told = server.run("doctor", check=False)
    psql(server.database, f'alter database "{name}" reset synchronous_commit')
    return "survive a power loss" in told.stdout + told.stderr and "a server that flushes nothing is called safe"


def looking_makes_no_tables(server):
    """B-M3"""
    if server.database.startswith("postgres"):
        there = urllib.parse.urlsplit(server.database)
        name = f"empty_{time.time_ns()}"
        psql(server.database, f"create database {name}")
        url = urllib.parse.urlunsplit(there._replace(path=f"/{name}"))
        server.run("--database", url, "item", "list", check=False)
        tables = psql(url, "select count(*) from information_schema.tables where table_schema = 'public'")
        return tables != "0" and f"looking at an empty database made {tables} tables"
    file = f"{server.folder}/nothing-{time.time_ns()}.db"
    server.run("--database", f"sqlite:{file}", "item", "list", check=False)
    return os.path.exists(file) and "looking for items made a database"


def psql(url, command):
    return subprocess.run(["psql", url, "-qAtc", command], check=True, capture_output=True, text=True).stdout.strip()


def all_faulty_lines_are_told(server):
    """B-M8"""
    lines = ["reference_id,kind,title,parent,priority,type", "e,epic,Epic,,,Magic", "s,user_story,Story,e,,"]
    lines += [",requirement,,s,,Functional"] * 70
    file = f"{server.folder}/faulty.csv"
    with open(file, "w") as sheet:
        sheet.write("\n".join(lines) + "\n")
    done = server.run("import", file, "--json", check=False)
    told = {int(number) for number in re.findall(r"line (\d+)", done.stdout + done.stderr)}
    faulty = {2, *range(4, 74)}
    return not faulty <= told and f"{len(told & faulty)} of {len(faulty)} faulty lines are told"


DEMONSTRATIONS = [
    batches_stay_in_their_project,
    consent_deletes_what_was_shown,
    changes_obey_their_project,
    prompts_obey_their_project,
    bound_tokens_hear_nothing_else,
    bound_tokens_read_no_linked_text,
    foreign_pages_are_refused,
    printed_priorities_are_taken,
    lists_are_no_objects,
    early_refusals_say_that_they_close,
    backups_are_private,
    exports_obey_their_epic,
    formulas_are_text,
    tokens_make_none_that_outlive_them,
    answers_to_agents_end,
    gaps_are_counted_to_their_end,
    search_totals_are_no_guess,
    yes_nobody_gave,
    passwords_stay_out_of_hosts_logs,
    hosts_that_do_not_read_slow_the_bridge,
    differences_come_in_pages,
    absent_servers_are_told_plainly,
    doctors_tell_of_lost_writes,
    looking_makes_no_tables,
    all_faulty_lines_are_told,
    reading_batches_stop_no_write,
    arrays_multiply_nothing,
    strangers_do_not_fill_the_trail,
    proxies_speak_for_others,
]


def main():
    program, database = sys.argv[1:3]
    holes = 0
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, database.replace("FOLDER", folder), folder)
        try:
            server.make("projects", key="web", name="web")
            locked = [foreign_locks_cost_one_answer] if database.startswith("postgres") else []
            for demonstration in DEMONSTRATIONS + locked:
                try:
                    seen = demonstration(server)
                except Exception as fault:
                    seen = f"did not come to its end: {fault!r}"
                holes += bool(seen)
                name = f"{demonstration.__doc__} {demonstration.__name__}"
                print(f"HOLE {name}: {seen}" if seen else f"held {name}", flush=True)
        finally:
            server.stop()
    print(f"{len(DEMONSTRATIONS + locked) - holes} passed, {holes} failed")
    sys.exit(1 if holes else 0)


main()
