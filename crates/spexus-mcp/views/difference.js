// What differs between two baselines, to be approved by a person: the answer of diff_baselines.
const view = (answer) => {
  const rows = answer.rows ?? [];
  const cells = (row) => [`${row.item} ${row.title ?? ""}`, text(row.difference), (row.fields ?? []).join(", ")];
  const rest = answer.truncated ? el("p", { class: "soft" }, `${rows.length} of ${text(answer.total_count) || "more"} are shown.`) : undefined;
  const said = (verdict) => () => say(`I ${verdict} this difference: ${rows.map((row) => `${row.item} ${text(row.difference)}`).slice(0, 50).join("; ")}.`);
  return [
    el("h1", {}, "Difference"),
    rows.length ? table(["Item", "It was", "In"], rows.map(cells)) : el("p", { class: "soft" }, "Nothing differs."),
    rest,
    rows.length ? [el("button", { onclick: said("approve") }, "Approve"), el("button", { onclick: said("do not approve") }, "Do not approve")] : [],
  ];
};
