// Spexus by its own means: the lean tools over MCP, and the command line with the skill an agent reads once.
import { counted, server, shell, tokens } from "./harness.mjs";
import { COMMENT, DEPENDENCIES, EPIC, JUNIT, PLAN, STORIES, TREE } from "./fixture.mjs";
import { readFileSync, writeFileSync } from "node:fs";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const spexus = process.env.SPEXUS;

const plan = (stories) =>
  stories
    .map((story) => [`## ${story.title}`, "### Acceptance criteria", ...story.criteria.map((one) => `- ${one}`), ...story.requirements.flatMap(([title, text]) => [`### Requirement: ${title}`, text])].join("\n"))
    .join("\n");

// A project on a database of its own, and the ids of its requirements by title.
const seeded = (work, name) => {
  const env = { HOME: work, SPEXUS_ADMIN_PASSWORD: "correct horse battery", LOG_LEVEL: "error", PATH: `${work}/bin:${process.env.PATH}`, SPEXUS_DATABASE: `sqlite:${work}/${name}.db` };
  const run = (line, input) => {
    const done = shell(`spexus ${line}`, { cwd: work, env, input });
    if (done.status !== 0) throw new Error(`spexus ${line}: ${done.text}`);
    return done.text;
  };
  writeFileSync(`${work}/seed.md`, `# ${EPIC}\n${plan(STORIES)}\n`);
  run("init");
  const ids = Object.fromEntries(JSON.parse(run("plan seed.md --json")).items.map((item) => [item.title, item.id]));
  for (const [from, to] of DEPENDENCIES) run(`item link ${ids[from]} depends_on ${ids[to]}`);
  run(`item comment ${ids["Refuse blocked cards"]} '${COMMENT}'`);
  return { env, ids, run };
};

export const overMcp = async (work) => {
  const { env, ids, run } = seeded(work, "mcp");
  const mcp = await server(spexus, ["mcp", "--agent", "--database", env.SPEXUS_DATABASE, "--toolsets", "agent"], { cwd: work, env });
  const refuse = ids["Refuse blocked cards"];
  const steps = {};
  steps["find"] = [await mcp.call("search_global", { query: "overdue reminders" })];
  steps["read context"] = [await mcp.call("get_context", { id: refuse })];
  const hash = steps["read context"][0].data.hash;
  const create = (kind, parent, title, more) => ({ op: "create", kind, parent, title, ...more });
  steps["create tree"] = [
    await mcp.call("apply_changes", {
      operations: [
        create("user_story", "EP-001", TREE.title, { ref: "s" }),
        ...TREE.criteria.map((description) => ({ op: "create", kind: "acceptance_criterion", parent: "@s", description })),
        ...TREE.requirements.map(([title, description]) => create("requirement", "@s", title, { description })),
      ],
    }),
  ];
  const link = { op: "link", source: ids["Book the fee"], type: "depends_on", target: ids["End the loan"] };
  steps["link"] = [await mcp.call("apply_changes", { operations: [link] })];
  steps["next"] = [await mcp.call("next_work", { limit: 1 })];
  steps["evidence"] = [await mcp.call("push_evidence", { commit: COMMIT, format: "junit", text: JUNIT.replace("ID", refuse) })];
  steps["impact"] = [await mcp.call("get_context", { id: ids["Check the card"], purpose: "review", max_tokens: 1_000 })];
  run(`item update ${refuse} --description 'A blocked card MUST be refused with the reason in the language of the borrower.'`);
  steps["review difference"] = [await mcp.call("get_context", { id: refuse, purpose: "review", if_changed: hash, max_tokens: 600 })];
  steps["import"] = [await mcp.call("import_plan", { markdown: PLAN })];
  const mine = { id: refuse, expect_rev: 1, priority: 1 };
  steps["resolve conflict"] = [await mcp.call("update_item", mine), await mcp.call("update_item", { ...mine, expect_rev: 2 })];
  mcp.end();
  return { version: mcp.version, standing: mcp.standing, how: `${mcp.tools} tools`, tasks: counts(steps, ids) };
};

export const overShell = async (work) => {
  const { env, ids, run } = seeded(work, "cli");
  const type = (line, input) => shell(line, { cwd: work, env, input });
  const refuse = ids["Refuse blocked cards"];
  const steps = {};
  steps["find"] = [type("spexus search 'overdue reminders'")];
  steps["read context"] = [type(`spexus item context ${refuse}`)];
  steps["create tree"] = [type("spexus plan - --under EP-001", `${plan([TREE])}\n`)];
  steps["link"] = [type(`spexus item link ${ids["Book the fee"]} depends_on ${ids["End the loan"]}`)];
  steps["next"] = [type("spexus work next --limit 1")];
  writeFileSync(`${work}/junit.xml`, JUNIT.replace("ID", refuse));
  steps["evidence"] = [type(`spexus trace push --commit ${COMMIT} --junit junit.xml`)];
  steps["impact"] = [type(`spexus item links ${ids["Check the card"]}`)];
  run(`item update ${refuse} --description 'A blocked card MUST be refused with the reason in the language of the borrower.'`);
  steps["review difference"] = [type(`spexus item history ${refuse} --limit 1 --json`)];
  steps["import"] = [type("spexus plan -", PLAN)];
  steps["resolve conflict"] = [type(`spexus item update ${refuse} --expect-rev 1 --priority 1`), type(`spexus item update ${refuse} --expect-rev 2 --priority 1`)];
  const skill = tokens(readFileSync(`${process.env.ROOT}/crates/spexus-mcp/skills/implement-requirement/SKILL.md`, "utf8"));
  return { version: type("spexus --version").text.trim().split(" ").pop(), standing: skill, how: "one skill", tasks: counts(steps, ids) };
};

// Fewer tokens for a wrong answer are no gain: what each answer must hold is looked at.
const counts = (steps, ids) => {
  const holds = {
    "find": ids["Send overdue reminders"],
    "read context": COMMENT,
    "next": ids["Check the card"],
    "impact": ids["Print the slip"],
    "review difference": "language of the borrower",
    "import": "EP-002",
  };
  for (const [task, wanted] of Object.entries(holds)) {
    const last = steps[task].at(-1).text;
    if (!last.includes(wanted)) throw new Error(`spexus: ${task} does not tell ${wanted}: ${last.slice(0, 600)}`);
  }
  return Object.fromEntries(Object.entries(steps).map(([task, done]) => [task, counted(done)]));
};
