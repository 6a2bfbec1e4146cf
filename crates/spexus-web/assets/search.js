// Search as one types: the page is asked for again once the typing pauses.
import { go } from "./navigate.js";

const PAUSE_MS = 150;
let timer = null;

addEventListener("input", (event) => {
  const form = event.target.closest?.("form[data-island=search]");
  if (!form) return;
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (!form.isConnected) return;
    const url = new URL(form.action);
    const fields = new URLSearchParams(new FormData(form));
    for (const [name, value] of [...fields]) if (value === "") fields.delete(name, value);
    url.search = fields;
    go(url.href, { replace: true, keepScroll: true });
  }, PAUSE_MS);
});
