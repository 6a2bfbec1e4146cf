// How far the work has come: the answer of status_report.
const view = (report) => {
  const bars = (counts) => {
    const entries = Object.entries(counts).filter(([, count]) => typeof count === "number");
    const most = Math.max(1, ...entries.map(([, count]) => count));
    return table(["", "", ""], entries.map(([name, count]) => [name, String(count), el("span", { class: "bar good", style: `width:${Math.round((100 * count) / most)}%` })]));
  };
  const groups = (value, path) =>
    Object.entries(value ?? {}).flatMap(([name, inner]) => {
      if (inner === null || typeof inner !== "object" || Array.isArray(inner)) return [];
      const numbers = Object.values(inner).some((one) => typeof one === "number");
      return [...(numbers ? [el("h2", {}, [...path, name].join(" · ").replaceAll("_", " ")), bars(inner)] : []), ...groups(inner, [...path, name])];
    });
  return [el("h1", {}, "How far the work has come"), groups(report, [])];
};
