// Counts what an agent's model reads: every row of every list, and the list of tools.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { countTokens } from "gpt-tokenizer";

const MAX_TOKENS_OF_A_ROW = 60;
const [, , spexus, database] = process.argv;
const child = spawn(spexus, ["mcp", "--scope", "admin", "--database", database, "--toolsets", "all"], { stdio: ["pipe", "pipe", "inherit"] });
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

await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "tokens", version: "1" } });
child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');

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
child.stdin.end();
if (rows < 250) throw new Error(`only ${rows} rows were seen`);
if (most.tokens > MAX_TOKENS_OF_A_ROW) throw new Error(`${most.tokens} tokens: ${most.tool}: ${JSON.stringify(most.row)}`);
console.log(`ok: ${rows} rows, the longest has ${most.tokens} tokens`);
