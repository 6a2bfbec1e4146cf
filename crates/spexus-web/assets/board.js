// The board: cards are dragged between lanes. A lane no step leads to says so as soon as a card is taken up.
const board = () => document.querySelector("[data-island=board]");
const laneOf = (target) => target.closest?.(".lane[data-status]");
let dragged = null;

const allowed = (lane) => lane.dataset.from.split(",").includes(laneOf(dragged).dataset.status);

function show(card) {
  if (dragged !== card) return;
  const from = laneOf(card).dataset.status;
  for (const lane of board().querySelectorAll(".lane")) {
    if (lane === laneOf(card)) continue;
    lane.setAttribute("data-live-step", allowed(lane) ? "yes" : "no");
    if (allowed(lane)) continue;
    const why = document.createElement("p");
    why.className = "hint refused";
    why.textContent = board().dataset.refused.replace("{}", from);
    lane.firstElementChild.after(why);
  }
}

function leave() {
  for (const lane of document.querySelectorAll("[data-live-step]")) lane.removeAttribute("data-live-step");
  for (const why of document.querySelectorAll(".lane > .refused")) why.remove();
  dragged = null;
}

addEventListener("dragstart", (event) => {
  const card = board() && event.target.closest?.(".card[data-ref]");
  if (!card?.draggable) return;
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setData("text/plain", card.dataset.ref);
  dragged = card;
  // The browser takes its picture of the card first.
  setTimeout(() => show(card));
});
addEventListener("dragover", (event) => {
  const lane = dragged && laneOf(event.target);
  if (lane && allowed(lane)) event.preventDefault();
});
addEventListener("drop", (event) => {
  const lane = dragged && laneOf(event.target);
  if (!lane || !allowed(lane)) return;
  event.preventDefault();
  const form = document.createElement("form");
  form.method = "post";
  form.action = board().dataset.step;
  form.hidden = true;
  const fields = { item: `${dragged.dataset.ref}@${dragged.dataset.rev}`, to: lane.dataset.status, back: board().dataset.back };
  for (const [name, value] of Object.entries(fields)) {
    const input = document.createElement("input");
    input.name = name;
    input.value = value;
    form.append(input);
  }
  leave();
  document.getElementById("main").append(form);
  form.requestSubmit();
  form.remove();
});
addEventListener("dragend", leave);

addEventListener("keydown", (event) => {
  const card = board() && event.target.closest?.(".card[data-ref]");
  if (!card || event.altKey || event.ctrlKey || event.metaKey || event.target.matches("input, button")) return;
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  const lanes = [...board().querySelectorAll(".lane")];
  const at = [...laneOf(card).querySelectorAll(".card")].indexOf(card);
  for (let next = lanes.indexOf(laneOf(card)) + step; lanes[next]; next += step) {
    const cards = lanes[next].querySelectorAll(".card");
    if (!cards.length) continue;
    event.preventDefault();
    return cards[Math.min(at, cards.length - 1)].querySelector("a[href]").focus();
  }
});
