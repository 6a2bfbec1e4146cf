// The TypeScript SDK 2.x against spexus, in both modes: with a handshake, and without one.
import assert from "node:assert";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [, , command, url, token, mode] = process.argv;

for (const [era, options] of [
  ["legacy", {}],
  ["auto", { versionNegotiation: { mode: "auto" } }],
]) {
  const headers = { Authorization: `Bearer ${token}` };
  for (const transport of [
    new StdioClientTransport({ command, env: process.env }),
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
  ]) {
    const client = new Client({ name: "ts2", version: "1" }, options);
    await client.connect(transport);
    const made = await client.callTool({ name: "create_epic", arguments: { title: `Made by TypeScript 2, ${era}` } });
    const id = JSON.stringify(made).match(/EP-\d+/)[0];
    const read = await client.readResource({ uri: `epic://${id}` });
    assert.match(read.contents[0].text, /Made by TypeScript 2/);
    const prompts = (await client.listPrompts()).prompts.map((p) => p.name);
    assert.ok(prompts.includes("analyze_requirement_quality"), prompts.join());
    await client.close();
  }
  console.log(`ok: TypeScript SDK 2.x, ${era}, over stdio (${mode}) and HTTP`);
}
