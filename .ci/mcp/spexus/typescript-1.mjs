// The TypeScript SDK 1.x against spexus: handshake era, over stdio and HTTP.
import assert from "node:assert";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [, , command, url, token, mode] = process.argv;

const check = async (transport) => {
  const client = new Client({ name: "ts1", version: "1" });
  await client.connect(transport);
  const tools = (await client.listTools()).tools.map((t) => t.name);
  assert.ok(tools.includes("create_epic") && tools.includes("search_global"), tools.join());
  const made = await client.callTool({ name: "create_epic", arguments: { title: `Made by TypeScript 1, ${mode}` } });
  const id = JSON.stringify(made).match(/EP-\d+/)[0];
  const uri = `epic://${id}`;
  const read = await client.readResource({ uri });
  assert.match(read.contents[0].text, /Made by TypeScript 1/);
  const changed = new Promise((resolve) => client.setNotificationHandler(ResourceUpdatedNotificationSchema, resolve));
  await client.subscribeResource({ uri });
  await client.callTool({ name: "update_epic", arguments: { epic_id: id, title: "Changed" } });
  await changed;
  const wrong = await client.callTool({ name: "create_epic", arguments: { title: 5 } });
  assert.strictEqual(wrong.isError, true);
  await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), /-32602/);
  await client.close();
};

await check(new StdioClientTransport({ command, env: process.env }));
await check(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }));
console.log(`ok: TypeScript SDK 1.x over stdio (${mode}) and HTTP`);
