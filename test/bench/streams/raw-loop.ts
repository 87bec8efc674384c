/*
 * The floor of streams: a loop in an isolate of the host's own process, written for speed alone. The host makes batches
 * as JSON texts, one ahead of the program; the isolate parses them and gives their rows to `for await`. There are no
 * checks, no limits, no journal and no other process.
 */
import { createRequire } from "node:module";
import { FLOOR_BATCH } from "./rows.ts";

const ivm = createRequire(new URL("../../../package.json", import.meta.url))(
  "isolated-vm",
) as typeof import("isolated-vm");

const GUEST = `
  const batches = [];
  let wake;
  let isOver = false;
  const ask = globalThis.ask;
  globalThis.rows = () => {
    let items = [];
    let at = 0;
    const next = async () => {
      while (batches.length === 0) {
        if (isOver) return { value: undefined, done: true };
        await new Promise((resolve) => { wake = resolve; });
      }
      items = batches.shift();
      at = 0;
      ask();
      return { value: items[at++], done: false };
    };
    return {
      next: () => at < items.length ? Promise.resolve({ value: items[at++], done: false }) : next(),
      [Symbol.asyncIterator]() { return this; },
    };
  };
  (text) => {
    if (text === undefined) isOver = true;
    else batches.push(JSON.parse(text));
    wake?.();
    wake = undefined;
  };
`;

/** Runs a program that reads \`rows()\`, in an isolate of its own. */
export async function runRaw(program: string, rows: AsyncIterator<unknown>): Promise<unknown> {
  const isolate = new ivm.Isolate({ memoryLimit: 128 });
  try {
    const context = await isolate.createContext();
    const guest: { give?: import("isolated-vm").Reference } = {};
    const send = async () => {
      const batch: unknown[] = [];
      while (batch.length < FLOOR_BATCH) {
        const step = await rows.next();
        if (step.done) break;
        batch.push(step.value);
      }
      if (batch.length > 0) guest.give?.applyIgnored(undefined, [JSON.stringify(batch)]);
      if (batch.length < FLOOR_BATCH) guest.give?.applyIgnored(undefined, [undefined]);
    };
    await context.global.set("ask", new ivm.Callback(() => void send(), { ignored: true }));
    guest.give = await context.eval(GUEST, { reference: true });
    const result = context.eval(`(async () => { ${program}\n})().then((value) => JSON.stringify(value))`, {
      promise: true,
    });
    void send();
    return JSON.parse((await result) as string);
  } finally {
    if (!isolate.isDisposed) isolate.dispose();
  }
}
