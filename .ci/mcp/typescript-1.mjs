// The TypeScript SDK 1.x: handshake era, over stdio and HTTP.
import assert from "node:assert";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CreateMessageRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [, , command, url] = process.argv;

const pipe = new Client({ name: "ts1", version: "1" });
await pipe.connect(new StdioClientTransport({ command }));
assert.deepStrictEqual((await pipe.listTools()).tools.map((t) => t.name), ["echo", "echo_task"]);
for (const name of ["echo", "echo_task"]) {
  const result = await pipe.callTool({ name, arguments: { text: "привет" } });
  assert.strictEqual(result.content[0].text, "привет");
}
const wrong = await pipe.callTool({ name: "echo", arguments: { text: 5 } });
assert.strictEqual(wrong.isError, true);
await pipe.close();

const web = new Client({ name: "ts1", version: "1" }, { capabilities: { sampling: {} } });
web.setRequestHandler(CreateMessageRequestSchema, async () => ({
  role: "assistant",
  model: "none",
  content: { type: "text", text: "sampled" },
}));
await web.connect(new StreamableHTTPClientTransport(new URL(url)));
const sampled = await web.callTool({ name: "test_sampling", arguments: { prompt: "say it" } });
assert.match(sampled.content[0].text, /sampled/);
const seen = [];
await web.callTool({ name: "test_tool_with_progress", arguments: {} }, undefined, { onprogress: (p) => seen.push(p.progress) });
assert.deepStrictEqual(seen, [0, 50, 100]);
const read = await web.readResource({ uri: "test://template/7/data" });
assert.match(read.contents[0].text, /"id":"7"/);
const prompt = await web.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } });
assert.match(prompt.messages[0].content.text, /arg1='a', arg2='b'/);
await assert.rejects(web.callTool({ name: "none", arguments: {} }), /-32602/);
await web.close();
console.log("ok: TypeScript SDK 1.x over stdio and HTTP");
