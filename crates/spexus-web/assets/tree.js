// The tree: arrows open and close, Alt with arrows moves, the mouse drags. Everything is sent by the form the page has anyway.
const tree = () => document.querySelector("[data-island=tree]");
const nodeOf = (target) => target.closest?.(".nodes li[data-ref]");
const parentOf = (node) => node.parentElement.closest("li[data-ref]");
let dragged = null, target = null;

function send(fields) {
  const form = document.createElement("form");
  form.method = "post";
  form.action = tree().dataset.move;
  form.hidden = true;
  for (const [name, value] of Object.entries({ ...fields, back: tree().dataset.back })) {
    const input = document.createElement("input");
    input.name = name;
    input.value = value;
    form.append(input);
  }
  document.getElementById("main").append(form);
  form.requestSubmit();
  form.remove();
}

const holds = (container, kind) => container.dataset.holds.split(",").includes(kind);
const item = (node) => `${node.dataset.ref}@${node.dataset.rev}`;

/** Where a node would go: into a node that can hold it, or beside one that stands where it may stand. */
function placeAt(over, y) {
  if (!over || over === dragged || dragged.contains(over)) return null;
  const box = over.firstElementChild.getBoundingClientRect();
  const part = (y - box.top) / box.height;
  if (holds(over, dragged.dataset.kind) && part > .25 && part < .75) return { over, mark: "into", fields: { parent: over.dataset.ref } };
  const container = parentOf(over);
  const fits = container ? holds(container, dragged.dataset.kind) : !parentOf(dragged) && over.dataset.kind === dragged.dataset.kind;
  if (!fits) return holds(over, dragged.dataset.kind) ? { over, mark: "into", fields: { parent: over.dataset.ref } } : null;
  const beside = part < .5 ? { before: over.dataset.ref } : { after: over.dataset.ref };
  return { over, mark: part < .5 ? "above" : "below", fields: { ...beside, ...(container ? { parent: container.dataset.ref } : {}) } };
}

function mark(next) {
  target?.over.removeAttribute("data-live-drop");
  target = next;
  target?.over.setAttribute("data-live-drop", target.mark);
}

addEventListener("dragstart", (event) => {
  const node = tree() && nodeOf(event.target);
  if (!node || !node.draggable) return;
  dragged = node;
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setData("text/plain", node.dataset.ref);
});
addEventListener("dragover", (event) => {
  if (!dragged || !tree()) return;
  const next = placeAt(nodeOf(event.target), event.clientY);
  mark(next);
  if (next) event.preventDefault();
});
addEventListener("drop", (event) => {
  if (!dragged || !target || !tree()) return;
  event.preventDefault();
  send({ item: item(dragged), ...target.fields });
});
addEventListener("dragend", () => { mark(null); dragged = null; });

addEventListener("keydown", (event) => {
  const node = tree() && nodeOf(event.target);
  if (!node || event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey) return;
  const twig = node.querySelector(":scope > .row > .twig");
  const open = twig?.getAttribute("aria-expanded") === "true";
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (event.altKey && step) {
    const beside = step < 0 ? node.previousElementSibling : node.nextElementSibling;
    if (!beside?.dataset.ref || !node.draggable) return;
    event.preventDefault();
    send({ item: item(node), [step < 0 ? "before" : "after"]: beside.dataset.ref });
  } else if (event.altKey) {
    return;
  } else if (event.key === "ArrowRight" && twig && !open || event.key === "ArrowLeft" && open) {
    event.preventDefault();
    twig.click();
  } else if (event.key === "ArrowLeft") {
    event.preventDefault();
    parentOf(node)?.querySelector("a[href]").focus();
  } else if (step) {
    const all = [...tree().querySelectorAll("li[data-ref]")];
    const next = all[all.indexOf(node) + step];
    if (!next) return;
    event.preventDefault();
    next.querySelector("a[href]").focus();
  }
});
