// Live pages: one stream of changes for each project and browser, in a shared worker, so that many tabs need one connection. A
// page that shows what changed asks for itself again and morphs. A hidden page waits until it is looked at.
import { refresh, scriptAddress } from "./navigate.js";

const LEAST_MS = 250, MOST_MS = 1000;
let port = null, project = null, timer = null, first = 0, stale = false;

const concerns = (change) => {
  if (document.querySelector("[data-live=all]")) return true;
  const names = change.label.split(/\s+/).map((name) => name.split("/").pop());
  return names.some((name) => /^[\w-]+$/.test(name) && document.querySelector(`[data-ref="${CSS.escape(name)}"]`));
};

async function update() {
  timer = null;
  first = 0;
  if (document.hidden) { stale = true; return; }
  stale = false;
  if (!await refresh().catch(() => false)) lost(true);
}

function heard(change) {
  if (!concerns(change)) return;
  const now = performance.now();
  first ||= now;
  clearTimeout(timer);
  timer = setTimeout(update, Math.max(0, Math.min(LEAST_MS, first + MOST_MS - LEAST_MS - now)));
}

export function lost(is) {
  let bar = document.getElementById("offline");
  if (!is) return bar?.remove();
  if (bar) return;
  bar = document.createElement("p");
  bar.id = "offline";
  bar.className = "offline";
  bar.setAttribute("role", "status");
  bar.textContent = document.body.dataset.lost;
  document.body.append(bar);
}

function receive({ data }) {
  if (data.project && data.project !== project) return;
  if (data.kind === "change") heard(data.change);
  // After a gap the page may be behind.
  if (data.kind === "open") { lost(false); if (data.again) update(); }
  if (data.kind === "lost") lost(true);
}

function follow() {
  const { project: wanted, since, worker } = document.body.dataset;
  if (!wanted) { project = null; return; }
  if (wanted === project) return;
  project = wanted;
  if (!port && globalThis.SharedWorker) {
    const shared = new SharedWorker(scriptAddress(worker), { name: "spexus-live" });
    port = shared.port;
    port.onmessage = receive;
    addEventListener("pagehide", () => port.postMessage({ leave: true }));
  }
  port?.postMessage({ project, since });
}

document.addEventListener("visibilitychange", () => { if (!document.hidden && stale) update(); });
document.addEventListener("page", follow);
document.addEventListener("lost", () => lost(true));
addEventListener("pageshow", (event) => { if (event.persisted) { project = null; follow(); update(); } });
follow();
