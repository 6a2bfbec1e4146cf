// What is being typed survives a lost session, a lost connection and a closed dialog: forms that say so (`data-draft="name"`) keep
// their fields in this browser tab until they were taken.
const key = (form) => `draft ${form.dataset.draft}`;
const kept = (form) => [...form.elements].filter((field) => /^(TEXTAREA|INPUT|SELECT)$/.test(field.nodeName) && field.name && !/^(hidden|password|file|radio|checkbox|submit)$/.test(field.type));

addEventListener("input", ({ target }) => {
  const form = target.form;
  if (!form?.dataset.draft) return;
  const texts = Object.fromEntries(kept(form).map((field) => [field.name, field.value]));
  try { sessionStorage.setItem(key(form), JSON.stringify(texts)); } catch { /* no room: nothing is kept */ }
});

/** Puts back what was typed into the forms of the page, unless something else stands there by now. */
function restore() {
  for (const form of document.querySelectorAll("form[data-draft]")) {
    const text = sessionStorage.getItem(key(form));
    if (!text || form.dataset.restored) continue;
    form.dataset.restored = "1";
    for (const [name, value] of Object.entries(JSON.parse(text))) {
      const field = form.elements.namedItem(name);
      if (field && "value" in field && field.value !== value) field.value = value;
    }
  }
}

document.addEventListener("taken", ({ detail }) => { if (detail.dataset?.draft) sessionStorage.removeItem(key(detail)); });
document.addEventListener("page", restore);
restore();
