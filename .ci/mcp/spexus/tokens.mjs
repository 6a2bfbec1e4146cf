// Counts what an agent's model reads: every row of every list, and the list of tools.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { countTokens } from "gpt-tokenizer";

const MAX_TOKENS_OF_A_ROW = 60;
const MAX_TOKENS_OF_THE_LEAN_LIST = 3_500;
const MAX_TOKENS_OF_INSTRUCTIONS = 600;
const MAX_TOKENS_OF_A_SKILL = 800;
const MAX_LEAN_TOOLS = 12;
const [, , spexus, database] = process.argv;

// A host that shows its model these toolsets.
const host = async (toolsets) => {
  const child = spawn(spexus, ["mcp", "--scope", "admin", "--database", database, "--toolsets", toolsets], { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
  });
  let last = 0;
  const ask = (method, params) =>
    new Promise((resolve) => {
      last += 1;
      waiting.set(last, resolve);
      child.stdin.write(JSON.stringify({ jsonrpc: "2.0", id: last, method, params }) + "\n");
    });
  const hello = await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "tokens", version: "1" } });
  child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  return { ask, hello: hello.result, end: () => child.stdin.end() };
};
const atMost = (what, tokens, most) => {
  if (tokens > most) throw new Error(`${what}: ${tokens} tokens, at most ${most}`);
  return tokens;
};
const { ask, end } = await host("all");

// The longest titles people write, in three scripts.
for (const words of ["authentication throughput regression ", "проверка подлинности пользователя ", "要件定義と受け入れ基準の追跡"]) {
  await ask("tools/call", { name: "create_epic", arguments: { title: words.repeat(20).slice(0, 200).trim() } });
}

let rows = 0;
let most = { tokens: 0 };
for (const tool of ["list_epics", "list_user_stories", "list_requirements", "list_acceptance_criteria", "list_steering_documents"]) {
  let cursor;
  do {
    const answer = await ask("tools/call", { name: tool, arguments: cursor ? { cursor } : {} });
    const page = answer.result?.structuredContent;
    if (!page?.rows) throw new Error(`${tool}: ${JSON.stringify(answer).slice(0, 400)}`);
    for (const row of page.rows) {
      const tokens = countTokens(typeof row === "string" ? row : JSON.stringify(row));
      rows += 1;
      if (tokens > most.tokens) most = { tokens, tool, row };
    }
    cursor = page.next_cursor;
  } while (cursor);
}
// A working context keeps its budget, whatever it is asked for and in whichever script it is written.
await ask("tools/call", { name: "import_plan", arguments: { markdown: `# ${"要件定義と受け入れ基準の追跡".repeat(9)}\n## ${"Проверка подлинности пользователя ".repeat(9).trim()}\n${"- WHEN 認証 fails THEN система SHALL 拒否 🚪 the request 9f86d081884c7d65.\n".repeat(40)}` } });
let contexts = 0;
let fullest = 0;
for (const kind of ["epics", "user_stories", "requirements", "acceptance_criteria"]) {
  const listed = await ask("tools/call", { name: `list_${kind}`, arguments: { detail: "ids", limit: 200, order_by: "-created_at" } });
  for (const id of listed.result.structuredContent.rows.slice(0, 12)) {
    for (const purpose of ["implement", "review", "test"]) {
      for (const max_tokens of [600, 1_000, 4_000]) {
        const answer = await ask("tools/call", { name: "get_context", arguments: { id, purpose, max_tokens } });
        const tokens = countTokens(JSON.stringify(answer.result.structuredContent));
        fullest = Math.max(fullest, atMost(`get_context of ${id} for ${max_tokens}`, tokens, max_tokens) / max_tokens);
        contexts += 1;
      }
    }
  }
}
const skills = await ask("skills/list", {});
for (const skill of skills.result.skills) {
  const read = await ask("resources/read", { uri: skill.uri });
  atMost(skill.uri, countTokens(read.result.contents[0].text), MAX_TOKENS_OF_A_SKILL);
}
end();

const lean = await host("agent");
const list = await lean.ask("tools/list", {});
lean.end();
if (list.result.tools.length > MAX_LEAN_TOOLS) throw new Error(`${list.result.tools.length} tools in the lean list`);
const ofList = atMost("the lean list", countTokens(JSON.stringify(list.result)), MAX_TOKENS_OF_THE_LEAN_LIST);
const ofInstructions = atMost("the instructions beside it", countTokens(lean.hello.instructions), MAX_TOKENS_OF_INSTRUCTIONS);
if (rows < 250) throw new Error(`only ${rows} rows were seen`);
if (most.tokens > MAX_TOKENS_OF_A_ROW) throw new Error(`${most.tokens} tokens: ${most.tool}: ${JSON.stringify(most.row)}`);
if (contexts < 300) throw new Error(`only ${contexts} contexts were seen`);
console.log(`ok: ${rows} rows, the longest has ${most.tokens} tokens`);
console.log(`ok: ${contexts} contexts within their budget, the fullest to ${Math.round(fullest * 100)} %`);
console.log(`ok: ${list.result.tools.length} lean tools in ${ofList} tokens, instructions in ${ofInstructions}`);
