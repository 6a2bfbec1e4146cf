"use strict";
// A view of what a tool answered, inside a host's sandbox. It loads nothing, sends nothing but messages to its host, and everything people
// wrote becomes text nodes.
const waiting = new Map();
let last = 0;
const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
const ask = (method, params) =>
  new Promise((resolve, reject) => {
    last += 1;
    waiting.set(last, { resolve, reject });
    send({ id: last, method, params });
  });
const tell = (method, params) => send({ method, params });

// An element with attributes and children; texts become text nodes.
const el = (name, given = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (key === "onclick") made.addEventListener("click", value);
    else made.setAttribute(key, value);
  }
  for (const child of children.flat()) if (child !== undefined && child !== null) made.append(child);
  return made;
};
const section = (title, rows) => (rows.length ? [el("h2", {}, title), el("ul", {}, rows.map((row) => el("li", {}, row)))] : []);
const table = (heads, rows) => el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell) => el("td", {}, cell))))));
const text = (value) => (typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value));

const styled = (context) => {
  if (context?.theme) document.documentElement.style.colorScheme = context.theme;
  for (const [name, value] of Object.entries(context?.styles?.variables ?? {})) if (name.startsWith("--") && value) document.documentElement.style.setProperty(name, value);
};
const resized = () => {
  const { width, height } = document.documentElement.getBoundingClientRect();
  tell("ui/notifications/size-changed", { width: Math.ceil(width), height: Math.ceil(height) });
};

// What a host shows of a tool: its structure, or else its text as it is.
const shown = (result) => {
  const main = document.querySelector("main");
  const words = (result.content ?? []).map((block) => block.text ?? "").join("\n");
  const made = result.isError || !result.structuredContent ? [el("p", { class: result.isError ? "bad" : "" }, words)] : [view(result.structuredContent)].flat(3);
  main.replaceChildren(...made.filter((one) => one !== undefined && one !== null));
  resized();
};

// The person's word goes into the conversation, as the person's. Nothing is changed by it here.
const say = (words) => ask("ui/message", { role: "user", content: { type: "text", text: words } }).catch(() => {});

addEventListener("message", (event) => {
  if (event.source !== parent) return;
  const message = event.data ?? {};
  if (message.id !== undefined && waiting.has(message.id) && message.method === undefined) {
    const { resolve, reject } = waiting.get(message.id);
    waiting.delete(message.id);
    return message.error ? reject(new Error(message.error.message)) : resolve(message.result);
  }
  if (message.method === "ui/notifications/tool-result") return shown(message.params ?? {});
  if (message.method === "ui/notifications/host-context-changed") return styled(message.params);
  if (message.id !== undefined && message.method === "ui/resource-teardown") return send({ id: message.id, result: {} });
  if (message.id !== undefined && message.method === "ping") return send({ id: message.id, result: {} });
  return undefined;
});
ask("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: document.title, version: "1.0.0" }, appCapabilities: { availableDisplayModes: ["inline"] } })
  .then((host) => {
    styled(host?.hostContext);
    tell("ui/notifications/initialized", {});
    new ResizeObserver(resized).observe(document.documentElement);
  })
  .catch(() => {});
