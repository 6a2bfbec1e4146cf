// Keys: an element says which key it is for (`data-key="e"`, `data-key="g b"`), so that whatever a key does can be clicked too.
// j and k move through what has a reference, Enter opens it, x selects it. Keys sleep in fields.
let pending = "", timer = null;

const rows = () => [...document.querySelectorAll("main [data-ref]")].filter((row) => row.matches("tr, li, .card, .blk") && row.offsetParent);
const typing = (target) => target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.nodeName) && !["checkbox", "radio", "button", "submit"].includes(target.type);

export function current() { return document.querySelector("main .cur[data-ref]"); }

export function move(step, extend = false) {
  const all = rows();
  if (!all.length) return;
  const from = all.indexOf(current());
  const to = all[Math.max(0, Math.min(all.length - 1, from < 0 ? (step > 0 ? 0 : all.length - 1) : from + step))];
  if (extend) select(all[from] ?? to, true);
  current()?.classList.remove("cur");
  to.classList.add("cur");
  if (extend) select(to, true);
  to.scrollIntoView({ block: "nearest" });
  to.querySelector("a[href]")?.focus({ preventScroll: true });
}

function select(row, on) {
  const box = row?.querySelector("input[type=checkbox]");
  if (!box) return;
  box.checked = on ?? !box.checked;
  box.dispatchEvent(new Event("change", { bubbles: true }));
}

const OWN = {
  j: () => move(1), k: () => move(-1), J: () => move(1, true), K: () => move(-1, true),
  x: () => select(current()),
  Enter: () => current()?.querySelector("a[href]")?.click(),
};

addEventListener("keydown", (event) => {
  // Saving and leaving work from within a field.
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    const button = event.target.closest("form")?.querySelector("button:not([type=button])");
    if (button) { event.preventDefault(); button.click(); }
    return;
  }
  if (event.key === "Escape" && !event.defaultPrevented) {
    const open = document.querySelector("details.menu[open]");
    if (open) { open.open = false; return open.querySelector("summary").focus(); }
    if (typing(event.target)) return event.target.blur();
    return document.querySelector("[data-key=Escape]")?.click();
  }
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.documentElement.dataset.keys === "off") return;
  if (typing(event.target)) return;
  if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
  const keys = pending ? `${pending} ${event.key}` : event.key;
  clearTimeout(timer);
  pending = "";
  const marked = [...document.querySelectorAll("[data-key]")];
  const scope = current();
  const target = (scope && marked.find((element) => element.dataset.key === keys && scope.contains(element)))
    ?? marked.find((element) => element.dataset.key === keys);
  if (target) {
    event.preventDefault();
    return target.matches("input:not([type=checkbox]), textarea, select") ? target.focus() : target.click();
  }
  if (keys.length === 1 && marked.some((element) => element.dataset.key.startsWith(`${keys} `))) {
    pending = keys;
    timer = setTimeout(() => { pending = ""; }, 1500);
    return;
  }
  if (OWN[keys]) { event.preventDefault(); OWN[keys](); }
});
