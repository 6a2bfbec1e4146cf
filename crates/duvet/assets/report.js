"use strict";
const D = JSON.parse(document.getElementById("data").textContent);
const STATES = ["complete", "exception", "missing_test", "missing_citation", "partial", "not_started", "unknown"];
const WORDS = { complete: "complete", exception: "excused", missing_test: "missing test", missing_citation: "missing citation", partial: "partial", not_started: "not started", unknown: "uncited" };
const LEVELS = ["MUST", "SHOULD", "MAY", "AUTO"];
const KINDS = { spec: "Requirement", implementation: "Implementation", implication: "Implication", test: "Test", exception: "Exception", todo: "To do" };
const PAGE = 200;
const main = document.querySelector("main"), nav = document.querySelector("nav"), aside = document.querySelector("aside");
const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const el = (tag, attrs = {}, ...kids) => {
  const node = document.createElement(tag);
  for (const [k, v] of Object.entries(attrs)) {
    if (k === "on") for (const [e, f] of Object.entries(v)) node.addEventListener(e, f);
    else if (k === "c") node.style.setProperty("--c", `var(--${v})`);
    else if (v !== null && v !== undefined && v !== false) node.setAttribute(k, v);
  }
  node.append(...kids.flat(9).filter(k => k !== null && k !== undefined && k !== false));
  return node;
};
const spec = i => D.specs[i];
const name = s => s.t || s.n.replace(/^https?:\/\//, "");
// A section of an IETF text is known by its number as well as by its title.
const heading = (s, c) => { const n = s.f === "ietf" && c.i.match(/^(?:section|appendix)-([\w.]+)$/); return n && c.t ? `${n[1]}. ${c.t}` : c.t || c.i; };
const req = i => D.reqs[i];
const link = (s, c, r) => "#/" + [spec(s).n, ...(c === undefined ? [] : [spec(s).s[c].i]), ...(r === undefined ? [] : [r])].map(encodeURIComponent).join("/");
const tally = reqs => { const t = {}; for (const r of reqs) t[r.st] = (t[r.st] || 0) + 1; return t; };
const bar = reqs => {
  const t = tally(reqs), label = STATES.filter(s => t[s]).map(s => `${t[s]} ${WORDS[s]}`).join(", ");
  return el("div", { class: "bar", role: "img", "aria-label": label, title: label },
    STATES.filter(s => t[s]).map(s => { const i = el("i"); i.style.cssText = `background:var(--${s});flex:${t[s]}`; return i; }));
};
const done = reqs => reqs.filter(r => r.st === "complete" || r.st === "exception").length;
const percent = (a, b) => b ? Math.floor(a * 100 / b) : 0;
D.reqs.forEach((r, i) => { r.i = i; r.low = (r.x + " " + spec(r.s).n + "#" + spec(r.s).s[r.c].i).toLowerCase(); });
const bySpec = D.specs.map(() => []); D.reqs.forEach(r => bySpec[r.s].push(r));
const bySection = new Map(); D.reqs.forEach(r => { const k = r.s + "/" + r.c; (bySection.get(k) || bySection.set(k, []).get(k)).push(r); });

function drawNav(active) {
  const item = i => el("a", { class: "spec" + (i === active ? " on" : ""), href: link(i), title: spec(i).n },
    el("b", {}, name(spec(i))), bySpec[i].length ? [el("small", {}, `${done(bySpec[i])} of ${bySpec[i].length} done`), bar(bySpec[i])] : el("small", {}, spec(i).n));
  const full = D.specs.map((_, i) => i).filter(i => bySpec[i].length), rest = D.specs.map((_, i) => i).filter(i => !bySpec[i].length);
  const theme = el("button", { class: "btn", title: "Light or dark", "aria-label": "Switch between light and dark", on: { click: switchTheme } }, "◐");
  nav.replaceChildren(el("h1", {}, el("a", { href: "#/" }, D.title), theme), ...full.map(item),
    rest.length ? el("details", rest.includes(active) ? { open: "" } : {}, el("summary", {}, `${rest.length} cited without requirements`), rest.map(item)) : "");
}
function switchTheme() {
  const dark = matchMedia("(prefers-color-scheme:dark)").matches, root = document.documentElement;
  const now = root.dataset.theme || (dark ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  try { localStorage.setItem("duvet-theme", root.dataset.theme); } catch { /* private window */ }
}
function levelCards(reqs) {
  return el("div", { class: "cards" }, LEVELS.map(l => reqs.filter(r => r.l === l)).filter(rs => rs.length).map(rs =>
    el("div", { class: "card" }, el("div", { class: "k" }, rs[0].l === "AUTO" ? "no level" : rs[0].l),
      el("div", { class: "n" }, `${percent(done(rs), rs.length)} % `, el("small", {}, `${done(rs)} of ${rs.length} done`)), bar(rs))));
}
function specTable() {
  const head = ["Specification", "Reqs", "Done", ...STATES.slice(2).map(s => WORDS[s]), ""];
  const rows = D.specs.map((s, i) => [s, i]).filter(([, i]) => bySpec[i].length).map(([s, i]) => {
    const t = tally(bySpec[i]), cell = n => el("td", { class: n ? "" : "zero" }, String(n || 0));
    return el("tr", {}, el("td", {}, el("a", { href: link(i) }, name(s))), cell(bySpec[i].length), cell(done(bySpec[i])), STATES.slice(2).map(k => cell(t[k])), el("td", {}, bar(bySpec[i])));
  });
  return rows.length ? el("table", {}, el("thead", {}, el("tr", {}, head.map(h => el("th", {}, h)))), el("tbody", {}, rows)) : "";
}
function hits(text, words) {
  if (!words.length) return [text];
  const out = [], low = text.toLowerCase(); let at = 0;
  while (at < text.length) {
    let best = -1, len = 0;
    for (const w of words) { const p = low.indexOf(w, at); if (p >= 0 && (best < 0 || p < best)) { best = p; len = w.length; } }
    if (best < 0) break;
    out.push(text.slice(at, best), el("mark", {}, text.slice(best, best + len))); at = best + len;
  }
  out.push(text.slice(at)); return out;
}
function reqList(reqs) {
  const state = { q: "", levels: new Set(), states: new Set() };
  const list = el("div"), count = el("div", { class: "count", "aria-live": "polite" }), sentinel = el("div");
  let found = [], shown = 0, words = [];
  const card = r => el("button", { class: "req", c: r.st, on: { click: () => openReq(r.i) } },
    el("div", { class: "meta" }, el("span", { class: "lv" }, r.l === "AUTO" ? "—" : r.l), el("span", { class: "st" }, WORDS[r.st]),
      el("span", {}, `${name(spec(r.s))} · ${spec(r.s).s[r.c].i}`), r.a.length ? el("span", {}, counted(r.a.length, "citation")) : ""), hits(r.x, words));
  const more = () => { if (shown < found.length) { list.append(...found.slice(shown, shown + PAGE).map(card)); shown += PAGE; } };
  const refresh = () => {
    words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    found = reqs.filter(r => (!state.levels.size || state.levels.has(r.l)) && (!state.states.size || state.states.has(r.st)) && words.every(w => r.low.includes(w)));
    count.textContent = `${found.length} of ${reqs.length} requirements`; list.replaceChildren(); shown = 0; more();
  };
  const chip = (set, key, label, color) => el("button", { class: "chip", "aria-pressed": "false", on: { click: e => { const b = e.currentTarget; set.has(key) ? set.delete(key) : set.add(key); b.setAttribute("aria-pressed", set.has(key)); refresh(); } } }, color ? el("span", { class: "dot", c: color }) : "", label);
  const t = tally(reqs), ls = LEVELS.filter(l => reqs.some(r => r.l === l));
  const tools = el("div", { class: "tools" }, el("input", { type: "search", placeholder: "Search requirements ( / )", "aria-label": "Search requirements", on: { input: e => { state.q = e.target.value; refresh(); } } }),
    ls.length > 1 ? ls.map(l => chip(state.levels, l, l === "AUTO" ? "no level" : l)) : "", STATES.filter(s => t[s]).map(s => chip(state.states, s, `${WORDS[s]} ${t[s]}`, s)));
  new IntersectionObserver(es => es.some(e => e.isIntersecting) && more(), { rootMargin: "900px" }).observe(sentinel);
  refresh();
  return reqs.length ? [tools, count, list, sentinel] : [el("p", { class: "lead" }, "No requirements here.")];
}
function drawHome() {
  drawNav(-1);
  const r = D.reqs;
  main.replaceChildren(el("h2", {}, D.title), el("p", { class: "lead" }, `${counted(r.length, "requirement")} and ${counted(D.annos.length, "citation")} in ${counted(D.specs.length, "specification")}`, D.drifted ? el("span", { class: "warn" }, ` · not as the specification says: ${counted(D.drifted, "quote")}`) : ""),
    levelCards(r), specTable(), ...reqList(r), el("footer", {}, `Made by duvet ${D.version}`));
}
function drawSpec(i) {
  drawNav(i);
  const s = spec(i);
  const toc = el("ul", { class: "toc" }, s.s.map((c, k) => {
    const rs = bySection.get(i + "/" + k) || [];
    return el("li", {}, el("span", { class: "id mono", title: c.i }, c.i.replace(/^(section|appendix)-/, "")), el("a", { href: link(i, k) }, c.t || c.i), el("span", { class: "dots" }, rs.slice(0, 12).map(r => el("span", { class: "dot", c: r.st, title: WORDS[r.st] }))));
  }));
  main.replaceChildren(el("div", { class: "crumb" }, el("a", { href: "#/" }, "All specifications")), el("h2", {}, name(s)), el("p", { class: "lead mono" }, s.n), levelCards(bySpec[i]), toc, ...reqList(bySpec[i]));
}
const LEGEND = () => el("div", { class: "legend" }, STATES.map(s => el("span", {}, el("span", { class: "dot", c: s }), WORDS[s])));
function drawSection(i, k) {
  drawNav(i);
  const s = spec(i), c = s.s[k];
  const text = el("div", { class: "text mono" + (s.f === "ietf" ? " pre" : "") });
  for (const line of c.l) {
    if (typeof line === "string") { text.append(line + "\n"); continue; }
    for (const [t, ids, rs] of line) {
      if (!ids.length && !rs.length) { text.append(t); continue; }
      const st = rs.length ? req(rs[0]).st : null;
      const label = rs.length ? WORDS[st] : "cited, no requirement";
      text.append(el("span", { class: "seg" + (st ? "" : " cite"), ...(st ? { c: st } : {}), title: label, tabindex: 0, role: "button", ...(rs.length ? { "data-r": rs[0] } : {}), on: { click: () => rs.length ? openReq(rs[0]) : openCites(i, k, t, ids), keydown: e => e.key === "Enter" && e.currentTarget.click() } }, t));
    }
    text.append("\n");
  }
  const near = (d, word) => s.s[k + d] ? el("a", { href: link(i, k + d) }, word(s.s[k + d])) : el("span");
  main.replaceChildren(el("div", { class: "crumb" }, el("a", { href: "#/" }, "All specifications"), " / ", el("a", { href: link(i) }, name(s))), el("h2", {}, heading(s, c)), el("p", { class: "lead mono" }, `${s.n}#${c.i}`),
    LEGEND(), c.l.length ? text : el("p", { class: "lead" }, "This section has no text of its own."), el("div", { class: "next" }, near(-1, x => "← " + heading(s, x)), near(1, x => heading(s, x) + " →")), ...(bySection.get(i + "/" + k) ? reqList(bySection.get(i + "/" + k)) : []));
}
function place(a) {
  const f = D.files[a.f], label = `${f}:${a.n}`, blob = a.b !== undefined ? D.blobs[a.b] : D.blob;
  return blob ? el("a", { href: `${blob.replace(/\/$/, "")}/${f}#L${a.n}`, class: "mono" }, label) : el("span", { class: "mono" }, label);
}
function citeList(ids) {
  const kinds = Object.keys(KINDS).filter(k => ids.some(i => D.annos[i].k === k));
  return kinds.map(k => [el("h4", {}, KINDS[k]), el("ul", {}, ids.filter(i => D.annos[i].k === k).map(i => {
    const a = D.annos[i];
    return el("li", {}, place(a), a.g ? el("small", { class: "warn" }, `quote is ${a.g}`) : "", a.c ? el("small", {}, a.c) : "", a.t ? el("small", {}, D.issue ? el("a", { href: /^https?:/.test(a.t) ? a.t : `${D.issue.replace(/\/$/, "")}/${a.t}` }, `issue ${a.t}`) : `issue ${a.t}`) : "", a.e ? el("small", {}, a.e) : "");
  }))]);
}
function citation(r, kind, style) {
  const lines = [`${style.meta} ${spec(r.s).n}#${spec(r.s).s[r.c].i}`];
  if (kind !== "implementation") lines.push(`${style.meta} type=${kind}`);
  if (kind === "exception") lines.push(`${style.meta} reason=`);
  return lines.concat(r.q.map(q => `${style.content} ${q}`)).join("\n") + "\n";
}
function copyBox(r) {
  let style = D.styles[0];
  const pre = el("pre", {}, citation(r, "implementation", style));
  const put = kind => async e => {
    const b = e.currentTarget, text = citation(r, kind, style), old = b.textContent;
    pre.textContent = text;
    try { await navigator.clipboard.writeText(text); } catch { const s = getSelection(); s.selectAllChildren(pre); document.execCommand("copy"); s.removeAllRanges(); }
    b.classList.add("ok"); b.textContent = "copied"; setTimeout(() => { b.classList.remove("ok"); b.textContent = old; }, 1200);
  };
  const pick = D.styles.length > 1 ? el("select", { "aria-label": "Comment style", on: { change: e => { style = D.styles[e.target.value]; pre.textContent = citation(r, "implementation", style); } } }, D.styles.map((s, i) => el("option", { value: i }, `${s.meta} ${s.content}`))) : "";
  return [el("h4", {}, "Copy citation"), el("div", { class: "row" }, ["implementation", "test", "implication", "exception", "todo"].map(k => el("button", { class: "btn", on: { click: put(k) } }, k)), pick), pre];
}
function show(color, ...kids) {
  aside.style.setProperty("--c", `var(--${color})`);
  aside.replaceChildren(el("button", { class: "x", "aria-label": "Close", on: { click: hide } }, "×"), ...kids.flat(9));
  aside.classList.add("on"); aside.scrollTop = 0; aside.querySelector(".x").focus({ preventScroll: true });
}
const hide = () => aside.classList.remove("on");
function openReq(i) {
  const r = req(i), s = spec(r.s), c = s.s[r.c];
  history.replaceState(null, "", link(r.s, r.c, r.id));
  const issue = D.issue ? el("a", { class: "btn", href: `${D.issue.replace(/\/$/, "")}/new?title=${encodeURIComponent(r.x.slice(0, 90))}&body=${encodeURIComponent(`${s.n}#${c.i}\n\n> ${r.x}`)}` }, "New issue") : "";
  show(r.st, el("h3", {}, el("span", { class: "lv" }, r.l), " · ", el("span", { class: "st" }, WORDS[r.st])), el("div", { class: "crumb" }, el("a", { href: link(r.s, r.c), on: { click: hide } }, `${name(s)} · ${heading(s, c)}`)),
    el("blockquote", {}, r.x), el("div", { class: "row" }, el("a", { class: "mono count", href: link(r.s, r.c, r.id), title: "Link to this requirement" }, r.id), issue), r.a.length ? citeList(r.a) : el("p", { class: "lead" }, "Nothing cites this requirement yet."), copyBox(r));
}
function openCites(i, k, text, ids) {
  show("faint", el("h3", {}, "Cited text"), el("div", { class: "crumb" }, `${name(spec(i))} · ${heading(spec(i), spec(i).s[k])}`), el("blockquote", {}, text.trim()), citeList(ids));
}
// Names, not numbers: a link holds after other specifications came or went. Links of old have the number.
function find(hash) {
  const part = t => { try { return decodeURIComponent(t); } catch { return t; } };
  const [a, b, id] = hash.replace(/^#\/?/, "").split("/").map(part);
  let i = D.specs.findIndex(s => s.n === a);
  if (i < 0 && /^\d+$/.test(a || "") && spec(Number(a))) i = Number(a);
  const k = i >= 0 && b ? spec(i).s.findIndex(c => c.i === b) : -1;
  return { i, k, r: id ? D.reqs.findIndex(q => q.s === i && q.c === k && q.id === id) : -1 };
}
function route() {
  hide();
  const { i, k, r } = find(location.hash);
  if (i < 0) drawHome(); else if (k < 0) drawSpec(i); else drawSection(i, k);
  scrollTo(0, 0);
  if (r < 0) return;
  const text = main.querySelector(`[data-r="${r}"]`);
  if (text) text.scrollIntoView({ block: "center" });
  openReq(r);
}
addEventListener("hashchange", route);
addEventListener("keydown", e => {
  if (e.key === "Escape") hide();
  if (e.key === "/" && !/INPUT|SELECT/.test(document.activeElement.tagName)) { const s = main.querySelector("input[type=search]"); if (s) { e.preventDefault(); s.focus(); } }
});
try { const t = localStorage.getItem("duvet-theme"); if (t) document.documentElement.dataset.theme = t; } catch { /* private window */ }
route();
