// What every page loads. Pages work without it; it makes them quick, live and driven by keys.
import "./navigate.js";
import "./live.js";
import "./keys.js";
import "./palette.js";
import "./draft.js";

const local = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "full", timeStyle: "long" });
// What only some pages need is loaded when one of them is shown.
const islands = {
  table: () => import("./table.js"),
  tree: () => import("./tree.js"),
  board: () => import("./board.js"),
  matrix: () => import("./matrix.js"),
  search: () => import("./search.js"),
};

function improve() {
  for (const island of document.querySelectorAll("[data-island]")) islands[island.dataset.island]?.().then(() => { island.dataset.ready = ""; });
  for (const time of document.querySelectorAll("time[datetime]:not([title])")) time.title = local.format(new Date(time.dateTime));
}
document.addEventListener("page", improve);
improve();

addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy)?.textContent ?? "");
  button.dataset.copied = "1";
});
