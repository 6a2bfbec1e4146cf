// Other systems that keep what is to be built for agents, each by its best means for the task: its MCP server where it has one, else its
// commands, else the files it is made of, read and written as an agent does. What a system has no means for is left out, with the reason.
import { counted, server, shell } from "./harness.mjs";
import { COMMENT, DEPENDENCIES, JUNIT, PLAN, STORIES, TREE } from "./fixture.mjs";
import { mkdirSync, writeFileSync } from "node:fs";

const slug = (title) => title.toLowerCase().replaceAll(" ", "-");
const all = Object.fromEntries(STORIES.flatMap((story) => story.requirements));
const NEW_TEXT = "A blocked card MUST be refused with the reason in the language of the borrower.";

const result = (about, steps, holds) => {
  for (const [task, wanted] of Object.entries(holds)) {
    const told = steps[task].map((step) => step.text).join("\n");
    if (!told.includes(wanted)) throw new Error(`${about.name}: ${task} does not tell ${wanted}: ${told.slice(0, 600)}`);
  }
  return { ...about, tasks: Object.fromEntries(Object.entries(steps).map(([task, done]) => [task, counted(done)])) };
};

// A repository with its name and nothing else.
const repository = (work) => {
  mkdirSync(work, { recursive: true });
  shell("git init --quiet . && git config user.name bench && git config user.email bench@example.org", { cwd: work });
  const env = { HOME: work };
  const type = (line, input) => shell(line, { cwd: work, env, input });
  const must = (line, input) => {
    const done = type(line, input);
    if (done.status !== 0) throw new Error(`${line}: ${done.text}`);
    return done;
  };
  // What an agent writes into a file, and what it is told.
  const write = (path, text) => {
    mkdirSync(`${work}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    writeFileSync(`${work}/${path}`, text);
    return { asked: JSON.stringify({ path, text }), text: "written" };
  };
  return { env, type, must, write };
};

// Backlog.md: tasks in Markdown, served over MCP. A story is a task with criteria, a requirement a task below it.
export const backlog = async (work, { bin }) => {
  const { env, must } = repository(work);
  const program = `${bin}/backlog`;
  must(`${program} init bench --defaults --integration-mode mcp`);
  must(`${program} config set remoteOperations false`);
  const mcp = await server(program, ["mcp", "start"], { cwd: work, env });
  const id = (step) => step.text.match(/TASK-[\d.]+/i)?.[0] ?? (() => { throw new Error(step.text); })();
  const ids = {};
  for (const story of STORIES) {
    const parent = id(await mcp.call("task_create", { title: story.title, acceptanceCriteria: story.criteria }));
    for (const [title, description] of story.requirements) {
      const dependencies = DEPENDENCIES.filter(([from]) => from === title).map(([, to]) => ids[to]);
      ids[title] = id(await mcp.call("task_create", { title, description, parentTaskId: parent, ...(dependencies.length ? { dependencies } : {}) }));
      if (title === "Refuse blocked cards") ids.story = parent;
    }
  }
  const refuse = ids["Refuse blocked cards"];
  await mcp.call("task_edit", { id: refuse, commentsAppend: [COMMENT] });
  const steps = {};
  steps["find"] = [await mcp.call("task_search", { query: "overdue reminders" })];
  // The criteria stand in the story, what it waits for in a third task.
  steps["read context"] = [await mcp.call("task_view", { id: refuse }), await mcp.call("task_view", { id: ids.story }), await mcp.call("task_view", { id: ids["Check the card"] })];
  const parent = await mcp.call("task_create", { title: TREE.title, acceptanceCriteria: TREE.criteria });
  const children = [];
  for (const [title, description] of TREE.requirements) children.push(await mcp.call("task_create", { title, description, parentTaskId: id(parent) }));
  steps["create tree"] = [parent, ...children];
  steps["link"] = [await mcp.call("task_edit", { id: ids["Book the fee"], dependencies: [ids["End the loan"]] })];
  steps["next"] = [await mcp.call("task_list", { ready: true })];
  steps["evidence"] = [await mcp.call("task_edit", { id: refuse, notesAppend: ["Test desk::refuses_a_blocked_card passed at 0123456789ab."] })];
  // Who waits for a task is told by no tool: all tasks are read.
  const others = Object.entries(ids).filter(([title]) => title in all && title !== "Check the card");
  steps["impact"] = [];
  for (const [, other] of others) steps["impact"].push(await mcp.call("task_view", { id: other }));
  must("git add --all && git commit --quiet --allow-empty --message seeded");
  await mcp.call("task_edit", { id: refuse, description: NEW_TEXT });
  steps["review difference"] = [must("git diff --unified=1 -- backlog")];
  steps["import"] = [];
  for (const [title, acceptanceCriteria] of [["Book a room", ["WHEN a room is free THEN the desk SHALL book it", "IF two ask at once THEN the first SHALL get it"]], ["Cancel a room", ["WHEN a booking is cancelled THEN the room SHALL be free"]]]) {
    steps["import"].push(await mcp.call("task_create", { title, acceptanceCriteria }));
    const room = id(steps["import"].at(-1));
    const below = title === "Book a room" ? ["A booking MUST last two hours at most.", "A booking MUST end when nobody comes for ten minutes."] : ["Cancelling MUST be possible until the booking begins."];
    for (const requirement of below) steps["import"].push(await mcp.call("task_create", { title: requirement, parentTaskId: room }));
  }
  mcp.end();
  const about = { name: "Backlog.md", version: mcp.version, standing: mcp.standing, how: `MCP, ${mcp.tools} tools`, missing: { "resolve conflict": "the last write wins, nobody is told" } };
  return result(about, steps, { "find": "Send overdue reminders", "read context": COMMENT, "next": "Check the card", "impact": "Print the slip", "review difference": "language of the borrower" });
};

// OpenSpec: specifications in Markdown with a command line. A story is a capability, a requirement stands in its specification.
export const openspec = async (work, { bin }) => {
  const { must, type, write } = repository(work);
  const program = `${bin}/openspec`;
  must(`${program} init --tools none .`);
  const spec = (story) => `# ${slug(story.title)} Specification\n\n## Purpose\n${story.title}: what the desk of a library does, and what it tells people.\n\n## Requirements\n${story.requirements.map(([title, text], at) => `### Requirement: ${title}\n${text}\n\n#### Scenario: ${title}\n- ${story.criteria[at % story.criteria.length].replace(" THEN ", "\n- THEN ")}\n`).join("\n")}`;
  for (const story of STORIES) write(`openspec/specs/${slug(story.title)}/spec.md`, spec(story));
  must("git add --all && git commit --quiet --message seeded");
  const named = (line) => ({ ...must(line.replace("openspec ", `${program} `)), asked: line });
  const delta = (story) => `## ADDED Requirements\n${story.requirements.map(([title, text], at) => `### Requirement: ${title}\n${text}\n\n#### Scenario: ${title}\n- ${story.criteria[at % story.criteria.length].replace(" THEN ", "\n- THEN ")}\n`).join("\n")}`;
  const proposal = (title) => `## Why\n${title} is missing.\n\n## What Changes\n- ${title}\n`;
  const change = (name, stories) => [
    ...stories.flatMap((story) => [write(`openspec/changes/${name}/specs/${slug(story.title)}/spec.md`, delta(story))]),
    write(`openspec/changes/${name}/proposal.md`, proposal(stories.map((story) => story.title).join(", "))),
    write(`openspec/changes/${name}/tasks.md`, `## 1. Build\n${stories.flatMap((story) => story.requirements).map(([title], at) => `- [ ] 1.${at + 1} ${title}\n`).join("")}`),
    named(`openspec validate ${name} --strict --no-interactive`),
    named(`openspec archive ${name} --yes`),
  ];
  const steps = {};
  steps["find"] = [type("grep -rn -i 'overdue reminders' openspec/specs")];
  steps["read context"] = [named("openspec show borrow-a-book --type spec --no-interactive")];
  steps["create tree"] = change("reserve", [TREE]);
  const rooms = [
    { title: "Book a room", criteria: ["WHEN a room is free THEN the desk SHALL book it", "IF two ask at once THEN the first SHALL get it"], requirements: [["Two hours", "A booking MUST last two hours at most."], ["Ten minutes", "A booking MUST end when nobody comes for ten minutes."]] },
    { title: "Cancel a room", criteria: ["WHEN a booking is cancelled THEN the room SHALL be free"], requirements: [["Until it begins", "Cancelling MUST be possible until the booking begins."]] },
  ];
  steps["import"] = change("rooms", rooms);
  must("git add --all && git commit --quiet --message more");
  steps["review difference"] = [];
  must(`sed -i 's/with the reason in words/with the reason in the language of the borrower/' openspec/specs/borrow-a-book/spec.md`);
  steps["review difference"] = [type("git diff --unified=1 -- openspec")];
  const about = {
    name: "OpenSpec CLI", version: type(`${program} --version`).text.trim(), standing: 0, how: "commands and files",
    missing: { "link": "requirements are not linked", "next": "no order of work between requirements", "evidence": "no results of tests", "impact": "requirements are not linked", "resolve conflict": "left to git" },
  };
  return result(about, steps, { "find": "Overdue reminders", "read context": "reason in words", "review difference": "language of the borrower" });
};

// StrictDoc: requirements in text files with relations, exported by a command. An agent reads and writes the files.
export const strictdoc = async (work, { bin }) => {
  const { must, type, write } = repository(work);
  const program = `${bin}/strictdoc`;
  const uid = {};
  let last = 0;
  for (const title of Object.keys(all)) uid[title] = `REQ-${(last += 1)}`;
  const node = (title, text, more = "") => `[REQUIREMENT]\nUID: ${uid[title]}\nTITLE: ${title}\nSTATEMENT: ${text}\n${more}\n`;
  const relations = (title) => DEPENDENCIES.filter(([from]) => from === title).map(([, to]) => `RELATIONS:\n- TYPE: Parent\n  VALUE: ${uid[to]}\n`).join("");
  const file = (story) => `[DOCUMENT]\nTITLE: ${story.title}\n\n${story.criteria.map((one) => `[TEXT]\nSTATEMENT: ${one}\n\n`).join("")}${story.requirements.map(([title, text]) => node(title, text, relations(title))).join("")}`;
  for (const story of STORIES) write(`docs/${slug(story.title)}.sdoc`, file(story));
  must("git add --all && git commit --quiet --message seeded");
  const checked = (line) => ({ ...must(line.replace("strictdoc ", `${program} `)), asked: line });
  const steps = {};
  steps["find"] = [type("grep -rn -i -A1 'overdue reminders' docs")];
  steps["read context"] = [type("cat docs/borrow-a-book.sdoc")];
  TREE.requirements.forEach(([title]) => (uid[title] = `REQ-${(last += 1)}`));
  steps["create tree"] = [write(`docs/${slug(TREE.title)}.sdoc`, file(TREE)), checked("strictdoc export . --formats=json --output-dir out")];
  steps["link"] = [type(`sed -i '/^UID: ${uid["Book the fee"]}$/,/^STATEMENT/ s/^\\(STATEMENT: .*\\)$/\\1\\nRELATIONS:\\n- TYPE: Parent\\n  VALUE: ${uid["End the loan"]}/' docs/return-a-book.sdoc`)];
  steps["impact"] = [type(`grep -rn -B6 'VALUE: ${uid["Check the card"]}$' docs`)];
  must("git add --all && git commit --quiet --message more");
  must(`sed -i 's/with the reason in words/with the reason in the language of the borrower/' docs/borrow-a-book.sdoc`);
  steps["review difference"] = [type("git diff --unified=1 -- docs")];
  const rooms = [
    { title: "Book a room", criteria: ["WHEN a room is free THEN the desk SHALL book it", "IF two ask at once THEN the first SHALL get it"], requirements: [["Two hours", "A booking MUST last two hours at most."], ["Ten minutes", "A booking MUST end when nobody comes for ten minutes."]] },
    { title: "Cancel a room", criteria: ["WHEN a booking is cancelled THEN the room SHALL be free"], requirements: [["Until it begins", "Cancelling MUST be possible until the booking begins."]] },
  ];
  rooms.flatMap((story) => story.requirements).forEach(([title]) => (uid[title] = `REQ-${(last += 1)}`));
  steps["import"] = [...rooms.map((story) => write(`docs/${slug(story.title)}.sdoc`, file(story))), checked("strictdoc export . --formats=json --output-dir out")];
  const about = {
    name: "StrictDoc", version: type(`${program} version`).text.trim().split(/\s+/).pop(), standing: 0, how: "files and commands",
    missing: { "next": "no order of work", "evidence": "results of tests are read from reports when a site is built, not asked for", "resolve conflict": "left to git" },
  };
  return result(about, steps, { "find": "Overdue reminders", "read context": "reason in words", "impact": "Print the slip", "review difference": "language of the borrower" });
};

// Task Master: tasks in a JSON file, served over MCP. Tools that need a model of their own are not called: no key is at hand.
export const taskmaster = async (work, { bin }) => {
  const { env, must } = repository(work);
  must(`${bin}/task-master init --yes --name bench --skip-install`);
  const root = { projectRoot: work };
  const mcp = await server(`${bin}/task-master-mcp`, [], { cwd: work, env: { ...env, TASK_MASTER_TOOLS: "standard" } });
  const ids = {};
  const tasks = [];
  for (const story of STORIES) {
    for (const [title, description] of story.requirements) {
      ids[title] = tasks.length + 1;
      const dependencies = DEPENDENCIES.filter(([from]) => from === title).map(([, to]) => ids[to]);
      tasks.push({ id: ids[title], title, description, details: story.criteria.join("\n"), testStrategy: "", status: "pending", dependencies, priority: "medium", subtasks: [] });
    }
  }
  mkdirSync(`${work}/.taskmaster/tasks`, { recursive: true });
  writeFileSync(`${work}/.taskmaster/tasks/tasks.json`, JSON.stringify({ master: { tasks, metadata: { created: "2026-11-19T00:00:00Z", updated: "2026-11-19T00:00:00Z", description: "bench" } } }));
  const steps = {};
  steps["find"] = [await mcp.call("get_tasks", { ...root, status: "pending" })];
  steps["read context"] = [await mcp.call("get_task", { ...root, id: String(ids["Refuse blocked cards"]) })];
  steps["link"] = [await mcp.call("add_dependency", { ...root, id: String(ids["Book the fee"]), dependsOn: String(ids["End the loan"]) })];
  steps["next"] = [await mcp.call("next_task", root)];
  steps["impact"] = [await mcp.call("get_tasks", root)];
  mcp.end();
  const ai = "needs a model of its own and its key";
  const about = {
    name: "Task Master", version: mcp.version, standing: mcp.standing, how: `MCP, ${mcp.tools} tools`,
    missing: { "create tree": ai, "evidence": "no results of tests", "review difference": "no history", "import": ai, "resolve conflict": "the last write wins, nobody is told" },
  };
  return result(about, steps, { "find": "Send overdue reminders", "read context": "reason in words", "next": "Check the card" });
};
