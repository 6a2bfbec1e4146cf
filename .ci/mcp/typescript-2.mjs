// The TypeScript SDK 2.x in both modes: with a handshake, and without one.
import assert from "node:assert";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [, , command, url] = process.argv;

for (const [mode, options] of [
  ["legacy", {}],
  ["auto", { versionNegotiation: { mode: "auto" } }],
]) {
  const pipe = new Client({ name: "ts2", version: "1" }, options);
  await pipe.connect(new StdioClientTransport({ command }));
  const result = await pipe.callTool({ name: "echo_task", arguments: { text: mode } });
  assert.strictEqual(result.content[0].text, mode);
  await pipe.close();

  const web = new Client({ name: "ts2", version: "1" }, options);
  await web.connect(new StreamableHTTPClientTransport(new URL(url)));
  const tools = (await web.listTools()).tools.map((t) => t.name);
  assert.ok(tools.includes("test_simple_text"));
  const text = await web.callTool({ name: "test_simple_text", arguments: {} });
  assert.match(text.content[0].text, /simple text/);
  const read = await web.readResource({ uri: "test://static-text" });
  assert.match(read.contents[0].text, /static text resource/);
  await web.close();
  console.log(`ok: TypeScript SDK 2.x, ${mode}, over stdio and HTTP`);
}
