// The matrix: a click into an empty cell leads to where it is filled, as a click on a full one does.
import { go } from "./navigate.js";

addEventListener("click", (event) => {
  const cell = event.target.closest?.("[data-island=matrix] tbody td");
  if (!cell || event.target.closest("a") || cell.matches(".gap, .sum") || event.button) return;
  const row = cell.parentElement.dataset.ref;
  const head = cell.closest("table").tHead.rows[0].cells[cell.cellIndex]?.querySelector("a");
  if (!row || !head) return;
  go(`${cell.closest("[data-island]").dataset.cell}&row=${encodeURIComponent(row)}&column=${encodeURIComponent(head.textContent)}`);
});
