// Makes one tree of elements like another with as few changes as possible, so that focus, scroll, open details and what is
// being typed stay where they are. Elements with the same id, or the same data-ref in one parent, are the same element.

const keyOf = (node) => node.nodeType === 1 ? node.id || node.dataset.ref || null : null;
const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

/** Whether somebody has typed into a field since the page was made. */
export const isTouched = (field) =>
  field === document.activeElement ||
  (field.type === "checkbox" || field.type === "radio" ? field.checked !== field.defaultChecked
    : field.nodeName === "SELECT" ? [...field.options].some((option) => option.selected !== option.defaultSelected)
    : field.value !== field.defaultValue);

function morphAttributes(from, to) {
  for (const { name } of [...from.attributes]) if (!to.hasAttribute(name) && !name.startsWith("data-live-")) from.removeAttribute(name);
  for (const { name, value } of to.attributes) if (from.getAttribute(name) !== value) from.setAttribute(name, value);
}

/** Whether somebody types in a form that is for one revision: that must not change under it. */
const isBegun = (node) => node.nodeName === "FORM" && node.querySelector("input[type=hidden][name=rev]") !== null
  && [...node.elements].some((field) => /^(INPUT|TEXTAREA|SELECT)$/.test(field.nodeName) && field.type !== "hidden" && isTouched(field));

/** Makes `from` like `to`. Gently, a form in which somebody types stays whole. */
export function morph(from, to, gently = false) {
  if (from.isEqualNode(to)) return;
  if (from.nodeType !== 1) { if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue; return; }
  if (gently && isBegun(from)) return;
  // What somebody is at work in stays until it is sent.
  if (from.hasAttribute("data-keep")) return;
  if (["INPUT", "TEXTAREA", "SELECT"].includes(from.nodeName) && isTouched(from)) {
    // What was entered stays; what the page says about it is taken over. A box that was ticked stands for what the row says now.
    if (from.type === "checkbox") from.value = to.value;
    for (const name of ["aria-invalid", "aria-describedby"]) {
      if (to.hasAttribute(name)) from.setAttribute(name, to.getAttribute(name)); else from.removeAttribute(name);
    }
    return;
  }
  // What a reader opened stays open.
  const open = from.nodeName === "DETAILS" && from.open;
  morphAttributes(from, to);
  if (open) from.open = true;
  if (from.nodeName === "INPUT") from.value = to.defaultValue;
  if (from.nodeName === "TEXTAREA") { from.defaultValue = to.defaultValue; from.value = to.defaultValue; return; }
  morphChildren(from, to, gently);
}

function morphChildren(from, to, gently) {
  const keyed = new Map();
  for (const child of from.childNodes) { const key = keyOf(child); if (key) keyed.set(key, child); }
  let at = from.firstChild;
  for (const wanted of [...to.childNodes]) {
    const key = keyOf(wanted);
    const known = key ? keyed.get(key) : null;
    if (known && known.nodeName === wanted.nodeName) {
      if (known === at) at = at.nextSibling; else from.insertBefore(known, at);
      keyed.delete(key);
      morph(known, wanted, gently);
    } else if (!key && at && alike(at, wanted)) {
      const next = at.nextSibling;
      morph(at, wanted, gently);
      at = next;
    } else {
      from.insertBefore(document.importNode(wanted, true), at);
    }
  }
  while (at) { const next = at.nextSibling; at.remove(); at = next; }
}
