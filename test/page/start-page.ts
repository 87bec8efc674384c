import { expect } from "vitest";
import { z } from "zod";
import { createRuntime, type Runtime } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { makeTool } from "../support/tools.ts";
import type { Look, Opened } from "./browser.ts";
import { createServer } from "../../src/serve/index.ts";

export const TOKEN = "a-token-of-the-tests";

const inputSchema = z.looseObject({ n: z.number() });
const of = (changes: Parameters<typeof makeTool<typeof inputSchema>>[0]) => makeTool({ inputSchema, ...changes });

/** A program of so many calls, most of them equal. */
export const manyCalls = (calls: number): string =>
  `const all = await Promise.all(Array.from({ length: ${calls - 10} }, (_, n) => tools.crm.orders({ n })));
for (let n = 0; n < 9; n += 1) await tools.echo({ n });
try { await tools.broken({ n: 1 }); } catch {}
return all.length;`;

/** Calls that are answered when the test says so. */
function gated() {
  let release: (() => void)[] = [];
  let isOpen = false;
  const open = () => {
    for (const go of release) go();
    release = [];
  };
  return {
    wait: () => (isOpen ? Promise.resolve() : new Promise<void>((resolve) => release.push(resolve))),
    open,
    stayOpen: () => {
      isOpen = true;
      open();
    },
  };
}

/** A runtime with tools of every kind, and a server that shows it on pages on which nothing goes wrong that the test does not take. */
export async function startPage(open: (url: string, look?: Look) => Promise<Opened>) {
  const gate = gated();
  const journal = createMemoryJournal();
  const tools = [
    of({ name: "crm.orders", execute: ({ n }) => Array.from({ length: 20 }, (_, id) => ({ id: id + n, units: 3 })) }),
    of({ name: "slow", execute: ({ n }) => gate.wait().then(() => n) }),
    makeTool({
      inputSchema,
      name: "crm.stream",
      stream: true,
      // A few thousand bytes a round, until there were three rounds.
      async *execute({ n }) {
        for (let round = 0; round < 3; round += 1) {
          for (let id = 0; id < n; id += 1) yield { id, text: "x".repeat(80) };
          await gate.wait();
        }
      },
    }),
    of({ name: "bank.pay", effect: "write", approval: "always", execute: ({ n }) => ({ paid: n }) }),
    of({ name: "bank.send", effect: "write", execute: ({ n }) => gate.wait().then(() => ({ sent: n })) }),
    of({ name: "echo", execute: (input) => input }),
    of({ name: "broken", execute: () => Promise.reject(new Error("It is closed.")) }),
  ];
  const runtime: Runtime = await createRuntime({
    tools,
    journal,
    sandbox: createMemorySandbox(),
    approve: () => "later",
    logger: { error: () => {} },
  });
  const door = await createServer(runtime, { token: TOKEN });
  const server = await door.listen({ port: 0 });
  const url = `${server.url}/#token=${TOKEN}`;
  const opened: Opened[] = [];
  const openPage = async (address = url, look: Look = {}) => {
    const one = await open(address, look);
    opened.push(one);
    return one;
  };
  /** Opens the page with its key, and goes to an execution. */
  const show = async (execution: string, look: Look = {}) => {
    const shown = await openPage(url, look);
    await shown.page.waitForSelector("[data-execution]");
    await shown.page.evaluate((id) => {
      location.hash = `#/execution/${encodeURIComponent(id)}`;
    }, execution);
    await shown.page.waitForSelector("main[data-execution]");
    return shown;
  };
  return {
    runtime,
    gate,
    server,
    url,
    open: openPage,
    show,
    /** Runs a program to its end, or until it waits, and shows it. */
    showRun: async (program: string, execution: string, look?: Look) => {
      await runtime.execute(program, { id: execution });
      return show(execution, look);
    },
    [Symbol.asyncDispose]: async () => {
      gate.open();
      // Closing makes problems of its own.
      const problems = opened.flatMap((page) => page.problems);
      await door.close({ drainMs: 0 });
      await runtime[Symbol.asyncDispose]();
      expect(problems).toEqual([]);
    },
  };
}
