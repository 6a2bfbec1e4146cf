// One stream of changes for each project, shared by all tabs of the browser.
const projects = new Map(); // key → { source, ports, opened }

function listen(key, since, port) {
  for (const [other, entry] of projects) if (other !== key) leave(other, entry, port);
  const known = projects.get(key);
  if (known) { known.ports.add(port); return; }
  const entry = { ports: new Set([port]), opened: false, since, waiting: 500, source: null };
  projects.set(key, entry);
  open(key, entry);
}

function open(key, entry) {
  const source = new EventSource(`/api/v1/changes/stream?project=${encodeURIComponent(key)}&since=${encodeURIComponent(entry.since)}`);
  entry.source = source;
  const tell = (message) => { for (const port of entry.ports) port.postMessage({ project: key, ...message }); };
  source.addEventListener("open", () => { entry.waiting = 500; tell({ kind: "open", again: entry.opened }); entry.opened = true; });
  source.addEventListener("change", (event) => {
    entry.since = event.lastEventId || entry.since;
    tell({ kind: "change", change: JSON.parse(event.data) });
  });
  source.addEventListener("error", () => {
    tell({ kind: "lost" });
    // The browser tries again by itself, unless it was refused; then we try with growing pauses.
    if (source.readyState !== EventSource.CLOSED) return;
    setTimeout(() => projects.get(key) === entry && open(key, entry), entry.waiting);
    entry.waiting = Math.min(entry.waiting * 2, 15000);
  });
}

function leave(key, entry, port) {
  entry.ports.delete(port);
  if (entry.ports.size) return;
  entry.source.close();
  projects.delete(key);
}

onconnect = ({ ports: [port] }) => {
  port.onmessage = ({ data }) => {
    if (data.leave) for (const [key, entry] of projects) leave(key, entry, port);
    else listen(data.project, data.since, port);
  };
};
