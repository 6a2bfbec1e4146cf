// The views of MCP Apps in a real browser: this is a host that shows each page in a sandbox, with the policy the extension prescribes, hands it
// what the tool answered, and looks at what is seen and said. Texts that try to run must stay texts.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [, , spexus, database] = process.argv;
const payloads = readFileSync(new URL("payloads.txt", import.meta.url), "utf8").split("\n").filter(Boolean);
const UI = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };

const child = spawn(spexus, ["mcp", "--scope", "admin", "--database", database, "--toolsets", "all"], { stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map();
createInterface({ input: child.stdout }).on("line", (line) => {
  const message = JSON.parse(line);
  waiting.get(message.id)?.(message);
});
let last = 0;
const ask = async (method, params) => {
  last += 1;
  const answer = await new Promise((resolve) => {
    waiting.set(last, resolve);
    child.stdin.write(JSON.stringify({ jsonrpc: "2.0", id: last, method, params }) + "\n");
  });
  assert.ok(answer.result, `${method}: ${JSON.stringify(answer.error)}`);
  return answer.result;
};
await ask("initialize", { protocolVersion: "2025-11-25", capabilities: { extensions: UI }, clientInfo: { name: "host", version: "1" } });
child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
const call = (name, given) => ask("tools/call", { name, arguments: given });

// A tree whose texts try everything.
await call("import_plan", { markdown: "# Gates\n## Open\n- WHEN the key fits THEN the gate SHALL open\n- The gate MUST log it.\n" });
await call("create_baseline", { name: "before" });
const made = [];
for (const payload of payloads) {
  const one = await call("create_item", { kind: "requirement", parent: "US-001", title: payload.slice(0, 150), description: payload });
  if (!one.isError) made.push(one.structuredContent.item?.reference_id ?? one.structuredContent.reference_id);
  await call("apply_changes", { operations: [{ op: "comment", id: "REQ-001", content: payload }] });
}
const asked = { get_context: { id: "REQ-001", max_tokens: 12000 }, diff_baselines: { from: "before" }, list_gaps: { limit: 200 }, status_report: {} };
const seen = { get_context: "The gate MUST log it.", diff_baselines: "added", list_gaps: "What to do", status_report: "requirement" };

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const { tools } = await ask("tools/list", {});
const viewed = tools.filter((tool) => tool._meta?.ui?.resourceUri);
assert.equal(viewed.length, Object.keys(asked).length);
for (const tool of viewed) {
  const uri = tool._meta.ui.resourceUri;
  const [contents] = (await ask("resources/read", { uri })).contents;
  assert.equal(contents.mimeType, "text/html;profile=mcp-app");
  const { csp } = contents._meta.ui;
  assert.ok(Object.values(csp).every((domains) => domains.length === 0), JSON.stringify(csp));
  const policy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'self'";
  const result = await call(tool.name, asked[tool.name]);
  const page = await browser.newPage();
  const faults = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("dialog", (dialog) => { faults.push(dialog.message()); dialog.dismiss(); });
  page.on("console", (message) => { if (message.type() === "error") faults.push(message.text()); });
  page.on("request", (request) => { if (!request.url().startsWith("https://host.test/") && !request.url().startsWith("https://view.test/")) faults.push(`a request to ${request.url()}`); });
  await page.route("https://view.test/", (route) => route.fulfill({ contentType: "text/html", headers: { "content-security-policy": policy }, body: contents.text }));
  await page.route("https://host.test/", (route) => route.fulfill({ contentType: "text/html", body: '<!doctype html><title>host</title><iframe sandbox="allow-scripts" width="800" height="600"></iframe>' }));
  await page.goto("https://host.test/");
  await page.evaluate((result) => {
    globalThis.said = [];
    const frame = document.querySelector("iframe");
    addEventListener("message", ({ data, source }) => {
      if (source !== frame.contentWindow) return;
      said.push(data.method ?? "an answer");
      const reply = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
      if (data.method === "ui/initialize") reply({ id: data.id, result: { protocolVersion: "2026-01-26", hostInfo: { name: "host", version: "1" }, hostCapabilities: {}, hostContext: { theme: "dark", styles: { variables: { "--color-text-primary": "rgb(1, 2, 3)" } } } } });
      if (data.method === "ui/notifications/initialized") reply({ method: "ui/notifications/tool-result", params: result });
      if (data.method === "ui/message") {
        globalThis.word = data.params;
        reply({ id: data.id, result: {} });
      }
    });
    frame.src = "https://view.test/";
  }, result);
  const frame = page.frameLocator("iframe");
  await frame.locator("h1").first().waitFor();
  const words = await frame.locator("main").innerText();
  assert.ok(words.includes(seen[tool.name]), `${tool.name}: ${words.slice(0, 400)}`);
  assert.equal(await frame.locator("main script, main img, main iframe, main a, main svg, main style").count(), 0, tool.name);
  assert.equal(await frame.locator("html").evaluate((html) => html.style.getPropertyValue("--color-text-primary")), "rgb(1, 2, 3)");
  if (tool.name === "get_context") {
    const shown = await frame.locator("main").textContent();
    const { comments } = result.structuredContent;
    assert.ok(comments.length > 50, `${comments.length} comments`);
    for (const comment of comments) assert.ok(shown.includes(comment.text), comment.text);
  }
  if (tool.name === "diff_baselines") {
    await frame.getByRole("button", { name: "Approve", exact: true }).click();
    await page.waitForFunction(() => globalThis.word);
    const word = await page.evaluate(() => globalThis.word);
    assert.equal(word.role, "user");
    assert.ok(word.content.text.startsWith("I approve this difference: "), word.content.text);
  }
  const said = await page.evaluate(() => said);
  assert.equal(said[0], "ui/initialize");
  assert.ok(said.includes("ui/notifications/size-changed"), said.join());
  assert.deepEqual(faults, [], tool.name);
  await page.close();
  console.log(`ok: ${uri} shows ${tool.name}`);
}
await browser.close();
child.kill();
