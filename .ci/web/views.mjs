// The stories of the table, the tree, the board, search, the palette, the matrix and the graph.
import assert from "node:assert/strict";

/** The pages every rule for pages holds for; KEY is the key of a project with REQ-001. */
export const pages = [
  "/p/KEY/table?limit=200", "/p/KEY/table?limit=200&group=status", "/p/KEY/table?kind=all&columns=title,parent,creator,owner", "/p/KEY/table?edit=REQ-001.title",
  "/p/KEY/tree?open=EP-001,US-001", "/p/KEY/tree?within=US-001", "/p/KEY/board?kind=requirement", "/p/KEY/board?step=US-001",
  "/p/KEY/matrix?limit=200", "/p/KEY/matrix?limit=200&columns=requirement&link=any", "/p/KEY/matrix/cell?row=REQ-001&column=AC-001",
  "/p/KEY/graph?from=REQ-001", "/search?query=script&project=KEY", "/palette?query=script&project=KEY", "/keys",
  "/p/KEY/views", "/p/KEY/reviews", "/p/KEY/reviews/new?items=REQ-001", "/p/KEY/baselines", "/p/KEY/trace", "/p/KEY/members", "/admin", "/admin/users", "/admin/projects", "/admin/workflows", "/admin/types", "/admin/audit",
];

export default ({ base, rest, signedIn, visitor, seeded, heading, picture }) => ({
  async "a cell is edited where it stands, undone, and filled from a column"() {
    const at = await seeded(), key = at.slice(3);
    for (const title of ["Second", "Third", "Fourth"]) await rest("POST", "/api/v1/requirements", { user_story_id: `${key}/US-001`, title });
    const page = await signedIn();
    await page.goto(`${base}${at}/table`);
    const row = (reference) => page.locator(`tr[data-ref="${reference}"]`);
    const value = "form.celled [name=value]";
    await row("REQ-002").hover();
    await row("REQ-002").locator("a.pen").click();
    await page.fill(value, "Second, and better");
    await page.keyboard.press("Enter");
    await page.locator(".toast").waitFor();
    assert.match(await row("REQ-002").innerText(), /Second, and better/);
    await page.keyboard.press("z");
    await page.locator(".toast").waitFor({ state: "detached" });
    assert.doesNotMatch(await row("REQ-002").innerText(), /better/);
    await page.keyboard.press("j");
    await page.keyboard.press("s");
    await page.locator(value).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.nodeName), "SELECT");
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("form.celled").count(), 0);
    for (const reference of ["REQ-002", "REQ-003"]) await row(reference).locator("[name=items]").check();
    assert.equal(await page.locator("#bulk .count").innerText(), "2");
    await page.selectOption("#bulk [name=field]", "priority");
    await page.fill("#bulk [name=value]", "high");
    await page.click("#bulk button.primary");
    await page.locator("#sure").waitFor();
    await page.click("main form button.primary");
    await page.locator(".toast").waitFor();
    assert.equal(await page.locator("[data-p='2']").count(), 2);
    await page.keyboard.press("z");
    await page.locator(".toast").waitFor({ state: "detached" });
    assert.equal(await page.locator("[data-p='2']").count(), 0);
    await row("REQ-002").locator("[data-field=owner] a.cell").focus();
    await page.evaluate(() => {
      const data = new DataTransfer();
      data.setData("text/plain", "admin\nadmin\n");
      document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    });
    await page.locator("#sure").waitFor();
    assert.equal(await page.locator("section[aria-labelledby=sure] tr").count(), 2);
    return page;
  },

  async "two people edit the same cell and nothing is lost"() {
    const at = await seeded();
    const [mine, theirs] = [await signedIn(), await signedIn()];
    const cell = 'tr[data-ref="REQ-001"]', value = "form.celled [name=value]";
    for (const page of [mine, theirs]) {
      await page.goto(`${base}${at}/table`);
      await page.locator(cell).hover();
      await page.locator(`${cell} a.pen`).click();
      await page.locator(value).waitFor();
    }
    await mine.fill(value, "Mine");
    await theirs.fill(value, "Theirs");
    await theirs.keyboard.press("Enter");
    await theirs.locator(".toast").waitFor();
    await mine.waitForTimeout(1500);
    assert.equal(await mine.inputValue(value), "Mine", "what is being typed survives the live page");
    await mine.keyboard.press("Enter");
    await mine.locator("form.celled [aria-invalid]").waitFor();
    assert.equal(await mine.inputValue(value), "Mine");
    assert.match(await mine.locator("#cell-fault").innerText(), /Theirs/);
    await mine.keyboard.press("Enter");
    await mine.locator(".toast").waitFor();
    await theirs.locator(cell, { hasText: "Mine" }).waitFor({ timeout: 5000 });
    assert.deepEqual(theirs.faults, []);
    return mine;
  },

  async "a node is moved by keys and by the mouse, a card along its steps"() {
    const at = await seeded(), key = at.slice(3);
    for (const title of ["Second", "Third"]) await rest("POST", "/api/v1/user-stories", { epic_id: `${key}/EP-001`, title });
    const page = await signedIn();
    await page.goto(`${base}${at}/tree`);
    // Keys go to a module that is loaded when its page is shown.
    await page.locator("[data-island=tree][data-ready]").first().waitFor();
    await page.locator("li[data-ref=EP-001] a.ref").first().focus();
    await page.keyboard.press("ArrowRight");
    await page.locator("li li[data-ref=US-003]").waitFor();
    const stories = () => page.$$eval("li li[data-ref]", (nodes) => nodes.map((node) => node.dataset.ref).join());
    await page.locator("li li[data-ref=US-001] a.ref").focus();
    await page.keyboard.press("Alt+ArrowDown");
    await page.waitForFunction(() => document.querySelector("li li[data-ref]").dataset.ref === "US-002");
    assert.equal(await page.evaluate(() => document.activeElement.closest("[data-ref]")?.dataset.ref), "US-001");
    await page.locator("li[data-ref=US-002] > .row").dragTo(page.locator("li[data-ref=US-003] > .row"), { targetPosition: { x: 200, y: 26 } });
    await page.waitForFunction(() => [...document.querySelectorAll("li li[data-ref]")].at(-1).dataset.ref === "US-002");
    assert.equal(await stories(), "US-001,US-003,US-002");
    await page.goto(`${base}${at}/board`);
    await page.locator("[data-island=board][data-ready]").first().waitFor();
    await page.locator(".card[data-ref=US-001]").dragTo(page.locator(".lane[data-status=Draft] h2"));
    await page.locator(".lane[data-status=Draft] .card[data-ref=US-001]").waitFor();
    await page.locator(".card[data-ref=US-001] a.mv").click();
    await page.locator(".card .no", { hasText: "Done" }).waitFor();
    await page.click(".card button[value='In Progress']");
    await page.locator(".lane[data-status='In Progress'] .card[data-ref=US-001]").waitFor();
    return page;
  },

  async "words are found as one types, and the palette goes everywhere"() {
    const at = await seeded();
    const page = await signedIn();
    await page.goto(`${base}/search?project=${at.slice(3)}`);
    await page.locator("main [name=query]").pressSequentially("passk", { delay: 30 });
    await page.locator("#found mark").first().waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.name), "query");
    await page.goto(`${base}${at}/table`);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("boar");
    await page.waitForFunction(() => document.querySelector("dialog a[aria-current]")?.textContent.includes("Board"));
    await page.keyboard.press("Enter");
    await page.waitForURL(`${base}${at}/board`);
    await page.keyboard.press("g");
    await page.keyboard.press("l");
    await page.waitForURL(`${base}${at}/table`);
    await page.keyboard.press("?");
    await page.locator("dialog .keys").first().waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("Control+k");
    await page.keyboard.type("REQ-001");
    await page.waitForFunction(() => document.querySelector("dialog a[aria-current]")?.textContent.includes("REQ-001"));
    await page.keyboard.press("Enter");
    await heading(page, "Passkeys work");
    return page;
  },

  async "links are seen, made and confirmed in the matrix, and drawn"() {
    const at = await seeded(), key = at.slice(3);
    await rest("POST", "/api/v1/requirements", { user_story_id: `${key}/US-001`, title: "Second" });
    const page = await signedIn();
    const matrix = `${base}${at}/matrix?columns=requirement&link=depends_on`;
    await page.goto(matrix);
    await page.locator("tr[data-ref=REQ-002] td.gap a").click();
    await page.fill("[name=column]", "REQ-001");
    await page.click("button:has-text('Add a link')");
    await page.locator("tr[data-ref=REQ-002] td.ok").waitFor();
    await rest("PATCH", `/api/v1/requirements/${key}%2FREQ-001`, { title: "Passkeys of every maker work" });
    await page.goto(matrix);
    await page.locator("tr[data-ref=REQ-002] td.sus a").click();
    await page.click("button[value=confirm]");
    await page.locator("tr[data-ref=REQ-002] td.ok").waitFor();
    await page.goto(`${base}${at}/graph?from=REQ-001`);
    assert.equal(await page.locator("svg.net a.g").count(), 2);
    assert.equal(await page.locator("table tr[data-ref=REQ-002]").count(), 1);
    await picture(page, "graph");
    return page;
  },

  async "a review is asked for, commented and decided by somebody else"() {
    const at = await seeded(), key = at.slice(3);
    const name = `rita-${process.pid}-${key.split("-").at(-1)}`;
    await rest("POST", "/api/v1/users", { username: name, password: "long enough", role: "User" });
    await rest("PUT", `/api/v1/projects/${key}/members/${name}`, { role: "reviewer" });
    const page = await signedIn();
    await page.goto(`${base}${at}/REQ-001`);
    await page.click("text=Ask for a review");
    await page.fill("[name=title]", "Passkeys for the release");
    await page.fill("[name=reviewers]", name);
    await page.click("main button.primary");
    await heading(page, "Passkeys for the release");
    const other = await visitor();
    await other.goto(`${base}/login`);
    await other.fill("[name=username]", name);
    await other.fill("[name=password]", "long enough");
    await other.press("[name=password]", "Enter");
    await other.click("text=Passkeys for the release");
    await heading(other, "Passkeys for the release");
    await other.fill("article [name=content]", "Which attestation?");
    await other.click("article button:has-text('Comment')");
    await other.locator("article .said", { hasText: "Which attestation?" }).waitFor();
    await other.click("button[value=approved]");
    await other.locator("dl [data-st=done]").waitFor();
    await picture(other, "review");
    assert.deepEqual(other.faults, []);
    await page.goto(`${base}${at}/REQ-001`);
    await page.locator("text=approved as it is").waitFor();
    return page;
  },

  async "a table is saved under a name and sent to somebody"() {
    const at = await seeded(), key = at.slice(3);
    await rest("POST", "/api/v1/views", { project: key, name: "Mine <b>", page: "table", query: "kind=epic" });
    const page = await signedIn();
    await page.goto(`${base}${at}/table?kind=user_story&sort=-title`);
    await page.click("#saved summary");
    await page.fill("#saved [name=name]", "Stories from Z");
    await page.check("#saved [name=shared]");
    await page.click("#saved form button");
    await page.waitForURL(`${base}${at}/table?kind=user_story&sort=-title`);
    await page.click("#saved summary");
    const sent = await page.locator("#saved a", { hasText: "Stories from Z" }).getAttribute("href");
    const other = await signedIn();
    await other.goto(base + sent);
    await other.locator("tr[data-ref=US-001]").waitFor();
    assert.equal(other.url(), `${base}${at}/table?kind=user_story&sort=-title`);
    assert.deepEqual(other.faults, []);
    await page.click("#saved a[href$='/views']");
    await page.locator("table a", { hasText: "Mine <b>" }).click();
    await page.locator("tr[data-ref=EP-001]").waitFor();
    return page;
  },

  async "the table, the board and the tree are used without a script"() {
    const at = await seeded();
    const page = await visitor({ javaScriptEnabled: false });
    await page.goto(`${base}/login`);
    await page.fill("[name=username]", "admin");
    await page.fill("[name=password]", process.env.PASSWORD);
    await page.press("[name=password]", "Enter");
    await page.goto(`${base}${at}/table`);
    await page.locator("[data-field=priority] a.cell").click();
    await page.selectOption("[name=value]", "1");
    await page.click("form.celled button");
    await page.locator("[data-p='1']").waitFor();
    await page.click(".toast button");
    assert.equal(await page.locator("[data-p='1']").count(), 0);
    await page.goto(`${base}${at}/board`);
    await page.click(".card a.mv");
    await page.click("button[value=Draft]");
    await page.locator(".lane[data-status=Draft] .card").waitFor();
    await page.goto(`${base}${at}/tree`);
    await page.click(".twig");
    await page.locator("li li[data-ref=US-001]").waitFor();
    return page;
  },
});
