// The table: cells that open where they stand, rows selected together, a column pasted, a value filled down. What is saved goes
// through the forms the page has anyway.
import { go, parse } from "./navigate.js";

const TOAST_MS = 8000;
const table = () => document.querySelector("[data-island=table]");
const rows = () => [...(table()?.querySelectorAll("tr[data-ref]") ?? [])];
const boxes = () => rows().map((row) => row.querySelector("input[name=items]")).filter(Boolean);
const cellOf = (target) => target.closest?.("td[data-field]");
const valueOf = (form) => form.elements.namedItem("value");
let before = null;   // the cell that is open, and what stood in it
let wanted = null;   // the cell to go to once the page has come back
let lastBox = null, toastTimer = null;

/** Opens a cell: the form comes from the server, which knows what may be chosen. */
async function open(cell) {
  close();
  const link = cell.querySelector("a.cell");
  if (!link) return;
  const url = new URL(link.href);
  url.pathname = table().dataset.cell;
  let form = null;
  try {
    const response = await fetch(url, { headers: { Accept: "text/html" } });
    if (response.ok && !response.redirected) form = parse(await response.text()).querySelector("form.celled");
  } catch { /* the link shows what is wrong */ }
  if (!form || !cell.isConnected) return go(link.href);
  before = { cell, nodes: [...cell.childNodes] };
  cell.replaceChildren(document.importNode(form, true));
  cell.classList.add("edit");
  // Until it is sent, nothing that comes from elsewhere takes it away.
  cell.dataset.keep = "";
  const field = valueOf(cell.firstElementChild);
  field.focus();
  field.select?.();
}

/** Leaves a cell as it was. */
function close(focus = false) {
  if (!before) return;
  const { cell, nodes } = before;
  before = null;
  delete cell.dataset.keep;
  if (!cell.querySelector("form.celled")) return;
  cell.classList.remove("edit");
  cell.replaceChildren(...nodes);
  if (focus) cell.querySelector("a.cell")?.focus();
}

const changed = (form) => {
  const field = valueOf(form);
  return field.nodeName === "SELECT" ? [...field.options].some((option) => option.selected !== option.defaultSelected)
    : field.value !== field.defaultValue;
};

const place = (cell) => ({ ref: cell.closest("tr").dataset.ref, field: cell.dataset.field });
const find = ({ ref, field }) => table()?.querySelector(`tr[data-ref="${CSS.escape(ref)}"] td[data-field="${CSS.escape(field)}"]`);

function neighbour(cell, step) {
  const cells = [...table().querySelectorAll("td[data-field]")];
  return cells[cells.indexOf(cell) + step];
}

function below(cell) {
  const all = rows();
  const row = all[all.indexOf(cell.closest("tr")) + 1];
  return row?.querySelector(`td[data-field="${cell.dataset.field}"]`) ?? cell;
}

function save(form, next, opened) {
  wanted = next ? { ...place(next), opened } : null;
  if (changed(form) || valueOf(form).getAttribute("aria-invalid")) return form.requestSubmit();
  close();
  arrive();
}

function arrive() {
  const fault = table()?.querySelector("form.celled [aria-invalid]");
  if (fault) { wanted = null; return fault.focus(); }
  const cell = wanted && find(wanted);
  const opened = wanted?.opened;
  wanted = null;
  if (!cell) return;
  if (opened) open(cell); else cell.querySelector("a.cell")?.focus();
}

/** Sends a change of several rows to its preview. */
function several(items, field, entries) {
  const form = document.createElement("form");
  form.method = "post";
  form.action = table().dataset.edit;
  form.hidden = true;
  for (const [name, value] of Object.entries({ items: items.join(","), field, back: table().dataset.back, ...entries })) {
    const input = document.createElement("textarea");
    input.name = name;
    input.value = value;
    form.append(input);
  }
  document.getElementById("main").append(form);
  form.requestSubmit();
  form.remove();
}

const picked = () => boxes().filter((box) => box.checked);

function fillDown(cell) {
  const field = cell.dataset.field;
  const chosen = picked().map((box) => box.closest("tr"));
  const all = chosen.length > 1 ? chosen : rows();
  const from = chosen.length > 1 ? all[0] : all[all.indexOf(cell.closest("tr")) - 1];
  const value = from?.querySelector(`td[data-field="${field}"]`)?.dataset.value;
  if (value === undefined) return;
  const targets = chosen.length > 1 ? chosen.slice(1) : [cell.closest("tr")];
  close();
  several(targets.map((row) => row.querySelector("input[name=items]").value), field, { value });
}

function pasted(cell, text) {
  const lines = text.replace(/\r/g, "").replace(/\n+$/, "").split("\n").map((line) => line.split("\t")[0]);
  if (lines.length < 2) return false;
  const chosen = picked().map((box) => box.closest("tr"));
  const all = rows();
  const targets = (chosen.length > 1 ? chosen : all.slice(all.indexOf(cell.closest("tr")))).slice(0, lines.length);
  close();
  several(targets.map((row) => row.querySelector("input[name=items]").value), cell.dataset.field, { values: lines.join("\n") });
  return true;
}

/** Shows what is selected. */
function sync() {
  if (!table()) return;
  const all = boxes(), chosen = all.filter((box) => box.checked);
  for (const box of all) {
    const row = box.closest("tr");
    if (box.checked) row.setAttribute("aria-selected", "true"); else row.removeAttribute("aria-selected");
  }
  const bar = document.getElementById("bulk");
  if (bar) { bar.hidden = !chosen.length; bar.querySelector(".count").textContent = String(chosen.length); }
  const whole = table().querySelector("input.all");
  if (whole) { whole.checked = all.length > 0 && chosen.length === all.length; whole.indeterminate = chosen.length > 0 && !whole.checked; }
  const toast = document.querySelector(".toast");
  clearTimeout(toastTimer);
  if (toast) toastTimer = setTimeout(() => fade(toast), TOAST_MS);
}

function fade(toast) {
  if (!toast.isConnected) return;
  if (toast.contains(document.activeElement) || toast.matches(":hover")) { toastTimer = setTimeout(() => fade(toast), TOAST_MS); return; }
  const url = new URL(location.href);
  url.searchParams.delete("undo");
  history.replaceState(history.state, "", url);
  toast.remove();
}

addEventListener("click", (event) => {
  if (!table() || event.button || event.ctrlKey || event.metaKey || event.shiftKey && !event.target.matches?.("input")) return;
  const link = event.target.closest?.("a.cell");
  if (link && table().contains(link)) { event.preventDefault(); return void open(cellOf(link)); }
  if (before && event.target.closest?.("a.leave")) { event.preventDefault(); return close(true); }
  const box = event.target.closest?.("tr[data-ref] input[name=items]");
  if (!box) return;
  if (event.shiftKey && lastBox?.isConnected) {
    const all = boxes();
    const [from, to] = [all.indexOf(lastBox), all.indexOf(box)].sort((a, b) => a - b);
    for (const one of all.slice(from, to + 1)) one.checked = box.checked;
  }
  lastBox = box;
}, true);

addEventListener("change", (event) => {
  if (event.target.matches?.("input.all")) for (const box of boxes()) box.checked = event.target.checked;
  if (event.target.matches?.("input.all, input[name=items]")) sync();
});

/** A panel that dropped down goes away when it was used, or was not wanted after all. */
function fold(panel, focus) {
  panel.open = false;
  if (focus) panel.querySelector("summary").focus();
}

addEventListener("submit", (event) => { const panel = event.target.closest?.(".drop-down"); if (panel) fold(panel, true); });
addEventListener("click", (event) => {
  for (const panel of document.querySelectorAll(".drop-down[open]")) if (!panel.contains(event.target)) fold(panel, false);
});
addEventListener("keydown", (event) => {
  const panel = event.key === "Escape" && event.target.closest?.(".drop-down[open]");
  if (panel) fold(panel, true);
});

addEventListener("submit", (event) => {
  if (!event.target.matches?.("form.celled")) return;
  const cell = cellOf(event.target);
  if (cell) delete cell.dataset.keep;
  wanted ??= cell ? place(cell) : null;
  before = null;
}, true);

addEventListener("keydown", (event) => {
  const cell = table() && cellOf(event.target);
  if (!cell) return;
  const form = event.target.closest("form.celled");
  if ((event.ctrlKey || event.metaKey) && event.key === "d") { event.preventDefault(); return fillDown(cell); }
  if (!form) {
    if (event.key === "F2") { event.preventDefault(); open(cell); }
    return;
  }
  if (event.key === "Escape") {
    event.preventDefault();
    if (before) close(true); else form.querySelector("a.leave").click();
  } else if (event.key === "Enter" && event.target === valueOf(form)) {
    event.preventDefault();
    save(form, below(cell), false);
  } else if (event.key === "Tab" && event.target === valueOf(form)) {
    const next = neighbour(cell, event.shiftKey ? -1 : 1);
    if (!next) return;
    event.preventDefault();
    save(form, next, true);
  }
});

addEventListener("paste", (event) => {
  const cell = table() && cellOf(event.target);
  if (cell && pasted(cell, event.clipboardData?.getData("text/plain") ?? "")) event.preventDefault();
});

document.addEventListener("page", () => { sync(); arrive(); });
sync();
