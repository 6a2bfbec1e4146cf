// Counts what a model pays for a task: the tokens of what it has to write, and of what it reads back. Real programs, real calls.
import { spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { countTokens } from "gpt-tokenizer";

const TIMEOUT_MS = 60_000;

// Text is counted once: where a tool answers with the same as text and as structure, hosts show their models one of them.
const read = (result) => {
  const texts = (result.content ?? []).map((block) => block.text ?? "").join("\n");
  return texts === "" ? JSON.stringify(result.structuredContent ?? {}) : texts;
};

// An MCP server on pipes; `standing` is what is paid on every turn: the list of tools and the instructions.
export const server = async (command, args, { cwd, env }) => {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "ignore"] });
  const waiting = new Map();
  createInterface({ input: child.stdout }).on("line", (line) => {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      return;
    }
    waiting.get(message.id)?.(message);
  });
  let last = 0;
  const ask = (method, params) =>
    new Promise((resolve, reject) => {
      last += 1;
      const timer = setTimeout(() => reject(new Error(`${command}: no answer to ${method}`)), TIMEOUT_MS);
      waiting.set(last, (message) => {
        clearTimeout(timer);
        resolve(message);
      });
      child.stdin.write(JSON.stringify({ jsonrpc: "2.0", id: last, method, params }) + "\n");
    });
  const clientInfo = { name: "bench", version: "1" };
  const hello = await ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
  child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  const listed = await ask("tools/list", {});
  return {
    standing: countTokens(JSON.stringify(listed.result)) + countTokens(hello.result.instructions ?? ""),
    tools: listed.result.tools.length,
    version: hello.result.serverInfo.version,
    end: () => child.kill(),
    call: async (name, given) => {
      const answer = await ask("tools/call", { name, arguments: given });
      const text = answer.error ? JSON.stringify(answer.error) : read(answer.result);
      return { asked: JSON.stringify({ name, arguments: given }), text, data: answer.result?.structuredContent };
    },
  };
};

// A command as an agent types it into a shell, with what it writes on its standard input.
export const shell = (line, { cwd, env, input }) => {
  const done = spawnSync("sh", ["-c", line], { cwd, env: { ...process.env, NO_COLOR: "1", ...env }, input, encoding: "utf8", timeout: TIMEOUT_MS });
  return { asked: input ? `${line}\n${input}` : line, text: `${done.stdout}${done.stderr}`, status: done.status };
};

// A file an agent writes: all of it is what the model wrote.
export const counted = (steps) => ({
  calls: steps.length,
  asked: steps.reduce((sum, step) => sum + countTokens(step.asked), 0),
  read: steps.reduce((sum, step) => sum + countTokens(step.text), 0),
});

export const tokens = countTokens;
