// A requirement with what surrounds it: the answer of get_context.
const view = (context) => {
  const item = context.item;
  if (!item) return el("p", { class: "soft" }, "Nothing changed.");
  const evidence = context.evidence;
  const facts = [item.status, item.type, item.priority && `P${item.priority}`, item.assignee && `@${item.assignee}`, `revision ${item.rev}`, context.held && `held by ${context.held}`];
  return [
    el("h1", {}, `${item.reference_id} ${item.title ?? ""}`),
    el("p", { class: "soft" }, facts.filter(Boolean).join(" · ")),
    el("p", {}, item.description),
    evidence ? el("p", { class: (evidence.flags ?? []).includes("failed") ? "bad" : "good" }, `Evidence: ${evidence.state}. ${evidence.weakest ?? ""}`) : undefined,
    section("Next steps", context.demands ?? []),
    section("Acceptance criteria", (context.criteria ?? []).map((one) => `${one.id} ${one.text}`)),
    section("Tests", (context.tests ?? []).map((one) => `${one.name}: ${one.standing}`)),
    section("Code", context.code ?? []),
    section("Links", (context.links ?? []).map((one) => `${one.reads} ${one.line}`)),
    section("Open comments", (context.comments ?? []).map((one) => `${one.by} on ${one.on}: ${one.text}`)),
  ];
};
