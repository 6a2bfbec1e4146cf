// Requirements against the rungs of the ladder: the answer of list_gaps.
const RUNGS = ["specified", "cited", "claimed", "ran", "passed", "executed", "affirmed"];
const view = (answer) => {
  const rows = answer.rows ?? [];
  const cells = (row) => {
    const reached = RUNGS.indexOf(row.state);
    const failed = (row.flags ?? []).includes("failed");
    const mark = (at) => (at <= reached ? el("span", { class: "good" }, "●") : at === reached + 1 ? el("span", { class: failed ? "bad" : "soft", title: row.weakest ?? "" }, failed ? "✕" : "○") : "");
    return [`${row.reference_id} ${row.title ?? ""}`, ...RUNGS.map((_, at) => mark(at))];
  };
  return [
    el("h1", {}, "Requirements and their evidence"),
    rows.length ? table(["Requirement", ...RUNGS], rows.map(cells)) : el("p", { class: "good" }, "Every requirement stands where it should."),
    section("What to do", rows.filter((row) => row.weakest).map((row) => `${row.reference_id}: ${row.weakest}`)),
  ];
};
