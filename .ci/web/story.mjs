// The pages in a real browser against a real server, one story after another; every one begins with a page of its own.
// Needs URL (the server), TOKEN (an administrator's), PASSWORD (of `admin`), and Chromium; PICTURES names a folder for pictures.
import { readFileSync } from "node:fs";
import assert from "node:assert/strict";
import { chromium } from "playwright-core";
import axe from "@axe-core/playwright";
import views, { pages } from "./views.mjs";

const Axe = axe.default ?? axe;
const { URL: base, TOKEN: token, PASSWORD: password, PICTURES: pictures, ONLY: only } = process.env;
const payloads = readFileSync(new URL("payloads.txt", import.meta.url), "utf8").split("\n").filter(Boolean);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

async function rest(method, path, body) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const answer = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

/** A browser of its own, with what may never happen noted. */
async function visitor(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en", ...options });
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(error.message));
  page.on("dialog", (dialog) => { page.faults.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (!request.url().startsWith(base) && !request.url().startsWith("data:")) page.faults.push(`a request to ${request.url()}`); });
  page.on("console", (message) => { if (message.type() === "error" && !/status of (4\d\d|5\d\d)|net::ERR/.test(message.text())) page.faults.push(message.text()); });
  return page;
}

async function signIn(page) {
  await page.goto(`${base}/login`);
  await page.fill("[name=username]", "admin");
  await page.fill("[name=password]", password);
  await page.press("[name=password]", "Enter");
  await page.waitForURL((url) => url.pathname === "/");
}

async function signedIn(options) {
  const page = await visitor(options);
  await signIn(page);
  return page;
}

const more = [...pages, ...(process.env.MORE ?? "").split(" ").filter(Boolean)];

const heading = (page, text) => page.locator("h1", { hasText: text }).waitFor({ timeout: 5000 });

let project = 0;
/** A project with an epic, a story and a requirement. */
async function seeded() {
  const key = `story-${process.pid}-${++project}`;
  await rest("POST", "/api/v1/projects", { key, name: "Passkeys" });
  await rest("POST", "/api/v1/epics", { project: key, title: "Sign in", priority: 1 });
  await rest("POST", "/api/v1/user-stories", { epic_id: `${key}/EP-001`, title: "With a passkey" });
  await rest("POST", "/api/v1/acceptance-criteria", { user_story_id: `${key}/US-001`, description: "The prompt opens within a second." });
  await rest("POST", "/api/v1/requirements", { user_story_id: `${key}/US-001`, title: "Passkeys work", description: "The service **shall** accept passkeys." });
  return `/p/${key}`;
}

const stories = {
  async "signing in leads to where one wanted to go, and out again"() {
    const at = await seeded();
    const page = await visitor();
    await page.goto(`${base}${at}/REQ-001`);
    await page.fill("[name=username]", "admin");
    await page.fill("[name=password]", "wrong password");
    await page.press("[name=password]", "Enter");
    await page.locator("[aria-invalid]").waitFor();
    assert.equal(await page.inputValue("[name=username]"), "admin");
    await page.fill("[name=password]", password);
    await page.press("[name=password]", "Enter");
    await heading(page, "Passkeys work");
    await page.click("text=Sign out");
    await heading(page, "Sign in");
    await page.goto(`${base}${at}/REQ-001`);
    assert.match(page.url(), /\/login/);
    return page;
  },

  async "an item is made and edited"() {
    const at = await seeded();
    const page = await signedIn();
    await page.goto(`${base}${at}/US-001`);
    await page.click("text=New: Requirement");
    await page.fill("[name=title]", "Challenges are fresh");
    await page.fill("[name=description]", "The service **shall** use each challenge once.");
    await page.click("main button.primary");
    await heading(page, "Challenges are fresh");
    assert.equal(await page.locator(".text strong").first().innerText(), "shall");
    await page.click("main >> text=Edit");
    await page.selectOption("[name=status]", "Active");
    await page.fill("[name=title]", "Challenges are fresh and used once");
    await page.press("[name=title]", "Control+Enter");
    await heading(page, "Challenges are fresh and used once");
    assert.equal(await page.locator(".fields [data-st=active]").count(), 1);
    assert.equal(await page.locator(".hist ins").first().isVisible(), true);
    return page;
  },

  async "two browsers edit the same item and nothing is lost"() {
    const at = await seeded();
    const [mine, theirs] = [await signedIn(), await signedIn()];
    for (const page of [mine, theirs]) await page.goto(`${base}${at}/REQ-001/edit`);
    await mine.fill("[name=description]", "The service **shall** accept passkeys within");
    await theirs.fill("[name=description]", "The payment service **shall** accept passkeys.");
    await theirs.selectOption("[name=status]", "Active");
    await theirs.click("main button.primary");
    await heading(theirs, "Passkeys work");
    await theirs.waitForTimeout(1500);
    await mine.fill("[name=description]", "The service **shall** accept passkeys within a second.");
    await mine.selectOption("[name=priority]", "1");
    await mine.click("main button.primary");
    await mine.locator(".three").waitFor();
    const both = await mine.inputValue("[name='both.description']");
    assert.equal(both, "The payment service **shall** accept passkeys within a second.");
    if (pictures) await mine.screenshot({ path: `${pictures}/conflict.png` });
    await mine.click("main button.primary");
    await heading(mine, "Passkeys work");
    assert.match(await mine.locator("main .text").first().innerText(), /payment service shall accept passkeys within a second/);
    assert.equal(await mine.locator(".fields [data-st=active]").count(), 1);
    assert.equal(await mine.locator(".fields [data-p='1']").count(), 1);
    assert.deepEqual(theirs.faults, []);
    return mine;
  },

  async "a change by REST and by an agent over MCP appears in the open page"() {
    const at = await seeded(), key = at.slice(3);
    const page = await signedIn();
    await page.goto(`${base}${at}/REQ-001`);
    await page.fill("#comment", "half a thought");
    await page.waitForTimeout(500);
    await rest("PATCH", `/api/v1/requirements/${key}%2FREQ-001`, { title: "Passkeys of every maker work" });
    await heading(page, "Passkeys of every maker work");
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
    const call = async (body, more = {}) => {
      const answer = await fetch(`${base}/api/v1/mcp`, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify({ jsonrpc: "2.0", ...body }) });
      const text = await answer.text();
      return { session: answer.headers.get("mcp-session-id"), text };
    };
    const begun = await call({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "story", version: "1" } } });
    const more = { "Mcp-Session-Id": begun.session ?? "", "Mcp-Protocol-Version": "2025-06-18" };
    await call({ method: "notifications/initialized" }, more);
    const changed = await call({ id: 2, method: "tools/call", params: { name: "update_requirement", arguments: { requirement_id: `${key}/REQ-001`, title: "Passkeys work for agents" } } }, more);
    assert.doesNotMatch(changed.text, /"error"|"isError":true/, changed.text);
    await heading(page, "Passkeys work for agents");
    assert.equal(await page.inputValue("#comment"), "half a thought", "what was being typed stays");
    return page;
  },

  async "everything by keyboard"() {
    const at = await seeded();
    const page = await signedIn();
    await page.goto(`${base}${at}`);
    await page.keyboard.press("Tab");
    assert.match(await page.evaluate(() => document.activeElement.className), /skip/);
    await page.keyboard.press("Enter");
    await page.keyboard.press("g"); await page.keyboard.press("d");
    await page.waitForURL(/document/);
    await page.locator(".blk").first().waitFor();
    for (let row = 0; row < 3; row += 1) await page.keyboard.press("j");
    assert.equal(await page.locator(".blk.cur").count(), 1);
    await page.goto(`${base}${at}/REQ-001`);
    await page.keyboard.press("e");
    await page.waitForURL(/edit/);
    await page.locator("[name=title]:focus").waitFor();
    await page.keyboard.press("End");
    await page.keyboard.type(" by keyboard");
    await page.keyboard.press("Control+Enter");
    await heading(page, "by keyboard");
    await page.keyboard.press("m");
    await page.keyboard.type("Written without a mouse.");
    await page.keyboard.press("Control+Enter");
    await page.locator(".cm", { hasText: "Written without a mouse." }).waitFor();
    await page.locator("#main").press("s");
    assert.equal(await page.locator("details.menu[open]").count(), 1);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("details.menu[open]").count(), 0);
    return page;
  },

  async "reading and simple edits without a script"() {
    const at = await seeded();
    const page = await signedIn({ javaScriptEnabled: false });
    await page.goto(`${base}${at}/document`);
    await page.click("[data-ref=REQ-001] a.ref");
    await page.click("main >> text=Edit");
    await page.fill("[name=title]", "Passkeys work without a script");
    await page.click("main button.primary");
    await page.locator("h1", { hasText: "without a script" }).waitFor();
    await page.fill("#comment", "Plain and simple.");
    await page.click("form[data-draft^=comment] button");
    await page.locator(".cm", { hasText: "Plain and simple." }).waitFor();
    return page;
  },

  async "what was typed survives a session that ended"() {
    const at = await seeded();
    const page = await signedIn();
    await page.goto(`${base}${at}/REQ-001/edit`);
    await page.fill("[name=description]", "A long thought nobody wants to type twice.");
    await page.context().clearCookies();
    await page.click("main button.primary");
    await page.locator("text=Sign in").first().waitFor();
    await signIn(page);
    await page.goto(`${base}${at}/REQ-001/edit`);
    assert.equal(await page.inputValue("[name=description]"), "A long thought nobody wants to type twice.");
    return page;
  },

  async "every page is accessible, light and dark, in both languages, down to 320 pixels"() {
    const at = await seeded();
    await rest("PATCH", `/api/v1/requirements/${at.slice(3)}%2FREQ-001`, { description: "The service **shall** accept passkeys.\n\n- [x] one\n\n| a | b |\n|---|---|\n| 1 | 2 |" });
    const paths = ["/", at, `${at}/document`, `${at}/EP-001`, `${at}/REQ-001`, `${at}/REQ-001/edit`, `${at}/REQ-001/history`, `${at}/REQ-001/links?query=sign`, `${at}/EP-001/delete`, `${at}/new`, "/settings", "/connect", "/p/none", ...more.map((path) => path.replace("KEY", at.slice(3)))];
    for (const [colorScheme, locale] of [["light", "en"], ["dark", "ru"], ["dark", "en"], ["light", "ru"]]) {
      const page = await signedIn({ colorScheme, locale });
      for (const path of paths) {
        await page.goto(base + path);
        const found = await new Axe({ page }).withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]).analyze();
        const bad = found.violations.filter(({ impact }) => impact === "serious" || impact === "critical");
        assert.deepEqual(bad.map(({ id, nodes }) => `${path} ${colorScheme} ${locale}: ${id} ${nodes[0].html}`), []);
        for (const width of [320, 768]) {
          await page.setViewportSize({ width, height: 700 });
          assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} is wider than ${width} pixels (${locale})`);
        }
        await page.setViewportSize({ width: 1280, height: 800 });
      }
      assert.deepEqual(page.faults.filter((fault) => !/404/.test(fault)), []);
      await page.context().close();
    }
    return visitor();
  },

  async "nothing that people write runs, loads or styles anything"() {
    const at = await seeded(), key = at.slice(3);
    assert.ok(payloads.length >= 150, `${payloads.length} payloads`);
    const page = await signedIn();
    await page.addInitScript(() => {
      globalThis.__violations = [];
      addEventListener("securitypolicyviolation", (event) => globalThis.__violations.push(`${event.violatedDirective} ${event.blockedURI}`));
    });
    const references = [], asked = `asked-${key}`;
    await rest("POST", "/api/v1/users", { username: asked, password: "long enough", role: "Administrator" });
    for (const payload of payloads) {
      const made = await rest("POST", "/api/v1/requirements", { user_story_id: `${key}/US-001`, title: payload.replace(/[\u0000-\u001f\u007f]/g, " "), description: payload, attributes: { note: payload } });
      references.push(made.reference_id);
      await rest("POST", `/api/v1/requirements/${key}%2F${made.reference_id}/comments`, { content: payload });
    }
    const reviews = [];
    for (const payload of payloads.filter((_, at) => at % 8 === 0)) {
      const words = payload.replace(/[\u0000-\u001f\u007f]/g, " ");
      await rest("POST", "/api/v1/views", { project: key, name: [...`${reviews.length} ${words}`].slice(0, 100).join("").trim(), page: "table", shared: true });
      const made = await rest("POST", "/api/v1/reviews", { project: key, title: words, description: payload, items: ["REQ-002"], reviewers: [asked] });
      reviews.push(`${at}/reviews/${made.number}`);
    }
    const inert = async (path) => {
      await page.goto(base + path);
      const state = await page.evaluate(() => ({ ran: globalThis.__ran, violations: globalThis.__violations, images: document.querySelectorAll("main img, main iframe, main object, main embed, main style, main script, main base, main link, main meta").length, scripts: [...document.querySelectorAll("a[href]")].filter((a) => !/^(https?|mailto):/.test(new globalThis.URL(a.getAttribute("href"), location.href).protocol)).length, handlers: [...document.querySelectorAll("main *")].filter((element) => [...element.attributes].some(({ name }) => name.startsWith("on") || name === "style")).length }));
      assert.deepEqual(state, { ran: undefined, violations: [], images: 0, scripts: 0, handlers: 0 }, path);
    };
    for (const reference of references) await inert(`${at}/${reference}`);
    for (const reference of references.filter((_, at) => at % 8 === 0)) for (const part of ["/edit", "/history", "/delete"]) await inert(`${at}/${reference}${part}`);
    for (const path of ["/", at, ...reviews, `${at}/US-001`, `${at}/document`, `${at}/REQ-002/links?query=script`, ...more.map((path) => path.replace("KEY", key))]) await inert(path);
    return page;
  },
};

const picture = (page, name) => pictures && page.screenshot({ path: `${pictures}/${name}.png` });
Object.assign(stories, views({ base, rest, signedIn, visitor, seeded, heading, picture }));

let failed = 0;
for (const [name, story] of Object.entries(stories)) {
  if (only && !name.includes(only)) continue;
  const began = Date.now();
  try {
    const page = await story();
    assert.deepEqual(page.faults, []);
    await page.context().close();
    console.log(`ok      ${name} (${Date.now() - began} ms)`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n${error.stack}`);
    if (pictures) for (const context of browser.contexts()) for (const page of context.pages()) await page.screenshot({ path: `${pictures}/failed-${failed}.png` });
  }
  for (const context of browser.contexts()) await context.close();
}
await browser.close();
process.exit(failed ? 1 : 0);
