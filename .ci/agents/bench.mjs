// The ten tasks by every contender that starts here; prints the tables of docs/agents.md and writes the figures as JSON.
import { mkdtempSync, writeFileSync, rmSync, mkdirSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { TASKS } from "./fixture.mjs";
import { overMcp, overShell } from "./spexus.mjs";
import { backlog, openspec, strictdoc, taskmaster } from "./others.mjs";

const bins = JSON.parse(process.env.BINS);
const work = mkdtempSync(`${tmpdir()}/bench-agents-`);
mkdirSync(`${work}/bin`);
symlinkSync(process.env.SPEXUS, `${work}/bin/spexus`);
const contenders = [
  ["Spexus MCP", () => overMcp(work)],
  ["Spexus CLI", () => overShell(work)],
  ["Backlog.md", () => backlog(`${work}/backlog`, { bin: bins.backlog })],
  ["OpenSpec CLI", () => openspec(`${work}/openspec`, { bin: bins.openspec })],
  ["StrictDoc", () => strictdoc(`${work}/strictdoc`, { bin: bins.strictdoc })],
  ["Task Master", () => taskmaster(`${work}/taskmaster`, { bin: bins.taskmaster })],
];
const measured = [];
for (const [name, run] of contenders) {
  try {
    measured.push({ name, missing: {}, ...(await run()) });
  } catch (error) {
    measured.push({ name, failed: String(error.message).split("\n")[0].slice(0, 300) });
  }
}
rmSync(work, { recursive: true, force: true });

const there = measured.filter((one) => !one.failed);
const sum = (one, task) => (one.tasks[task] ? one.tasks[task].asked + one.tasks[task].read : undefined);
const ours = there.filter((one) => one.name.startsWith("Spexus"));
const row = (cells) => `| ${cells.join(" | ")} |`;
console.log(row(["task", ...there.map((one) => `${one.name} ${one.version}`)]));
console.log(row(["---", ...there.map(() => "---")]));
let won = 0;
for (const task of TASKS) {
  const cell = (one) => {
    const done = one.tasks[task];
    return done ? `${done.calls}: ${done.asked} + ${done.read} = ${sum(one, task)}` : "—";
  };
  const rivals = there.filter((one) => !ours.includes(one)).map((one) => sum(one, task)).filter((total) => total !== undefined);
  const best = Math.min(...ours.map((one) => sum(one, task) ?? Infinity));
  const wins = rivals.every((total) => best <= total);
  won += wins ? 1 : 0;
  console.log(row([`${task}${wins ? "" : " (missed)"}`, ...there.map(cell)]));
}
console.log(row(["on every turn", ...there.map((one) => `${one.standing} (${one.how})`)]));
console.log(`\nFewest tokens in ${won} of ${TASKS.length} tasks.`);
for (const one of there) for (const [task, why] of Object.entries(one.missing)) console.log(`- ${one.name}, ${task}: ${why}.`);
for (const one of measured.filter((one) => one.failed)) console.log(`- ${one.name} did not start: ${one.failed}`);
if (process.env.OUT) writeFileSync(process.env.OUT, JSON.stringify({ won, tasks: TASKS.length, measured }, null, 1));
if (ours.length < 2) process.exit(1);
