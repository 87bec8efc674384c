import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type CallOptions,
  PortcullisError,
  type RuntimeOptions,
  type CallContext,
  type Tool,
} from "../../../src/index.ts";
import { createMemoryJournal } from "../../../src/journal/index.ts";
import { listed } from "../../journal/journal-suite.ts";
import { manualClock } from "../../support/clock.ts";
import { failing, makeTool, runtimeWith, signal } from "../../support/index.ts";

const logger = { error: () => {} };

interface Seen {
  /** Items that the handler was asked for. */
  pulled: number;
  /** Whether its `finally` ran. */
  ended: boolean;
  aborted: boolean;
}

interface Rows {
  readonly count?: number;
  readonly text?: string;
  readonly timeoutMs?: number;
  /** Called before each item. */
  readonly before?: (id: number, context: CallContext) => unknown;
}

/** A tool `rows` that yields objects with an `id`, and what its handler has seen. */
function rows({ count = 3, text, timeoutMs = 60_000, before }: Rows = {}): {
  readonly tool: Tool;
  readonly seen: Seen;
} {
  const seen: Seen = { pulled: 0, ended: false, aborted: false };
  const tool = makeTool({
    name: "rows",
    outputSchema: z.object({ id: z.number(), text: z.string().optional() }),
    stream: true,
    allowedCallers: ["direct", "programmatic"],
    timeoutMs,
    async *execute(_, context) {
      context.signal.addEventListener("abort", () => (seen.aborted = true));
      try {
        for (let id = 0; id < count; id += 1) {
          seen.pulled += 1;
          await before?.(id, context);
          yield { id, ...(text === undefined ? {} : { text }) };
        }
      } finally {
        seen.ended = true;
      }
    },
  });
  return { tool, seen };
}

async function open({ tool }: { readonly tool: Tool }, options: Partial<RuntimeOptions> = {}) {
  const runtime = await runtimeWith([tool], { logger, ...options });
  const call = (more: Partial<CallOptions> = {}) =>
    runtime.call({ tool: "rows", input: {}, caller: "programmatic", ...more });
  return {
    runtime,
    call,
    /** The items of a call that is to give some. */
    items: async (more?: Partial<CallOptions>) => {
      const called = await call(more);
      if (!called.ok || !called.items) throw new Error(JSON.stringify(called));
      return called.items;
    },
    records: async () => {
      const [summary] = await listed(runtime.journal);
      return Array.fromAsync(runtime.journal.read(summary?.execution ?? ""));
    },
    [Symbol.asyncDispose]: () => runtime[Symbol.asyncDispose](),
  };
}

const outcomeOf = async ({ records }: { readonly records: () => Promise<readonly unknown[]> }) =>
  JSON.parse(((await records()).at(-1) as { readonly outcome: string }).outcome) as unknown;

test("a host reads the items as they come, and the journal tells their number and bytes without them", async () => {
  const { tool, seen } = rows();
  await using host = await open({ tool });
  const read = await Array.fromAsync(await host.items());
  expect(read).toEqual([{ id: 0 }, { id: 1 }, { id: 2 }]);
  expect(await host.records()).toMatchObject([
    { type: "header", kind: "call", tool: "rows" },
    { type: "call", decision: "allowed" },
    { type: "answered", ok: true, items: 3, bytes: 27 },
    { type: "outcome", outcome: '{"type":"completed","items":3,"bytes":27}' },
  ]);
  expect(seen).toEqual({ pulled: 3, ended: true, aborted: false });
  expect(host.runtime.queue).toMatchObject({ running: 0 });
});

test("a call that gathers has one array as its value", async () => {
  await using host = await open(rows());
  expect(await host.call({ gather: true })).toEqual({ ok: true, value: [{ id: 0 }, { id: 1 }, { id: 2 }] });
  expect(await outcomeOf(host)).toEqual({ type: "completed", value: [{ id: 0 }, { id: 1 }, { id: 2 }] });
});

describe("a loop that is left ends the handler, and the call is journalled as completed", () => {
  test("by break", async () => {
    const { tool, seen } = rows({ count: 5000 });
    await using host = await open({ tool });
    for await (const _ of await host.items()) break;
    expect(seen).toMatchObject({ ended: true, aborted: true });
    const outcome = await outcomeOf(host);
    expect(outcome).toMatchObject({ type: "completed" });
    expect((outcome as { readonly items: number }).items).toBeLessThan(5000);
  });

  test("while the next item is waited for", async () => {
    const { tool, seen } = rows({ before: (id) => (id === 0 ? undefined : new Promise(() => {})) });
    await using host = await open({ tool });
    const iterator = (await host.items())[Symbol.asyncIterator]();
    await iterator.next();
    const next = iterator.next();
    await iterator.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(seen.aborted).toBe(true);
    expect(host.runtime.queue).toMatchObject({ running: 0 });
  });
});

describe("a failure", () => {
  const failing = (at: number) =>
    rows({
      count: 5,
      before: (id) => {
        if (id === at) throw new PortcullisError("tool_failed", "The warehouse closes at six.");
      },
    });
  const message = "The warehouse closes at six.";

  test("before the first item is the answer", async () => {
    await using host = await open(failing(0));
    expect(await host.call()).toEqual({ ok: false, code: "handler_failed", message });
    expect(await outcomeOf(host)).toEqual({ type: "failed", code: "handler_failed", message });
  });

  test("after items is thrown by the loop, after these", async () => {
    await using host = await open(failing(2));
    const read: unknown[] = [];
    const reading = (async () => {
      for await (const item of await host.items()) read.push(item);
    })();
    await expect(reading).rejects.toMatchObject({
      code: "stream_failed",
      message,
      cause: { ok: false, code: "handler_failed", message },
    });
    expect(read).toEqual([{ id: 0 }, { id: 1 }]);
    expect(await host.records()).toMatchObject([{}, {}, { type: "answered", ok: false, items: 2 }, {}]);
    expect(await outcomeOf(host)).toEqual({ type: "failed", code: "handler_failed", message });
  });

  test("of the journal reaches the loop", async () => {
    const journal = createMemoryJournal();
    let isFull = false;
    const append: typeof journal.append = (...given) =>
      isFull ? Promise.reject(new PortcullisError("journal_full", "full")) : journal.append(...given);
    await using host = await open(rows({ count: 10 }), { journal: { ...journal, append } });
    const items = await host.items();
    isFull = true;
    await expect(Array.fromAsync(items)).rejects.toMatchObject({ code: "journal_full" });
  });
});

describe("items that are not read end", () => {
  const cancelled = { code: "stream_failed", cause: { ok: false, code: "cancelled" } };

  test("by the call's signal", async () => {
    const { tool, seen } = rows({ count: 5000 });
    await using host = await open({ tool });
    const controller = new AbortController();
    const items = await host.items({ signal: controller.signal });
    controller.abort();
    await expect(Array.fromAsync(items)).rejects.toMatchObject(cancelled);
    expect(seen).toMatchObject({ ended: true, aborted: true });
    expect(await outcomeOf(host)).toEqual({ type: "cancelled" });
  });

  test("with the runtime, which does not wait for a reader", async () => {
    const { tool, seen } = rows({ count: 5000 });
    const host = await open({ tool });
    const items = await host.items();
    await host.runtime[Symbol.asyncDispose]();
    expect(seen).toMatchObject({ ended: true, aborted: true });
    await expect(Array.fromAsync(items)).rejects.toMatchObject(cancelled);
  });

  test("in the midst of a loop that waits", async () => {
    const waits = signal();
    const { tool } = rows({ before: (id) => (id === 0 ? undefined : (waits.happen(), new Promise(() => {}))) });
    await using host = await open({ tool });
    const controller = new AbortController();
    const reading = Array.fromAsync(await host.items({ signal: controller.signal }));
    await waits.happened;
    controller.abort();
    await expect(reading).rejects.toMatchObject(cancelled);
  });

  test("after the tool's time", async () => {
    const { tool, seen } = rows({ count: 5000, timeoutMs: 50 });
    await using host = await open({ tool });
    const items = await host.items();
    await expect.poll(() => seen).toMatchObject({ ended: true, aborted: true });
    expect(host.runtime.queue).toMatchObject({ running: 0 });
    await expect(Array.fromAsync(items)).rejects.toMatchObject({
      ...cancelled,
      message: expect.stringContaining("50 ms") as string,
    });
    expect(await outcomeOf(host)).toEqual({ type: "cancelled" });
  });
});

test("a loop may take longer than the tool's time for an item", async () => {
  const clock = manualClock();
  await using host = await open(rows({ count: 2, timeoutMs: 50 }));
  const read: unknown[] = [];
  for await (const item of await host.items()) {
    await clock.advance(120);
    read.push(item);
  }
  expect(read).toHaveLength(2);
});

test("a second loop is refused, and the first goes on", async () => {
  await using host = await open(rows());
  const items = await host.items();
  const iterator = items[Symbol.asyncIterator]();
  await iterator.next();
  await expect(Array.fromAsync(items)).rejects.toMatchObject({ code: "stream_misused" });
  expect(await iterator.next()).toEqual({ done: false, value: { id: 1 } });
  await iterator.return?.();
});

describe("what begins in one batch and ends in another is redacted", () => {
  const BEGIN = 498;
  /** Lines of one secret. Batches end after 16 and 516 lines. */
  const SECRET = Array.from({ length: 30 }, (_, line) => `secret ${line}`);
  const redact: RuntimeOptions["redact"] = ({ text, to }) => {
    const start = text.indexOf(SECRET[0] ?? "");
    const last = text.indexOf(SECRET.at(-1) ?? "");
    if (to !== "model" || start === -1 || last === -1) return [];
    return [{ start, end: last + (SECRET.at(-1)?.length ?? 0), what: "secret" }];
  };
  const lines = (before?: (line: number) => unknown) =>
    makeTool({
      name: "rows",
      outputSchema: z.string(),
      stream: true,
      async *execute() {
        for (let line = 0; line < 2000; line += 1) {
          await before?.(line);
          yield SECRET[line - BEGIN] ?? `line ${line}`;
        }
      },
    });

  test("if both come in time", async () => {
    await using host = await open({ tool: lines() }, { redact });
    const items = await Array.fromAsync(await host.items());
    expect(items).toHaveLength(2000);
    expect(items.filter((item) => String(item).startsWith("secret"))).toEqual([]);
    expect(items.filter((item) => String(item).includes(": secret]"))).toHaveLength(SECRET.length);
    expect([items[BEGIN - 1], items[BEGIN + SECRET.length]]).toEqual(["line 497", "line 528"]);
  });

  test("of a batch that comes late, its own part", async () => {
    const cut = 5;
    const clock = manualClock();
    const items: unknown[] = [];
    const untilRead = async () => {
      while (items.length < BEGIN + cut) await clock.advance(1);
    };
    await using host = await open(
      { tool: lines((line) => (line === BEGIN + cut ? untilRead() : undefined)) },
      { redact },
    );
    for await (const item of await host.items()) items.push(item);
    expect(items.filter((item) => String(item).startsWith("secret"))).toEqual(SECRET.slice(0, cut));
  });
});

test("if redact fails, each item of the batch is its mark", async () => {
  const redact: RuntimeOptions["redact"] = ({ text, to }) => {
    if (to === "model" && text.includes("hunter2")) throw new Error("broken");
    return [];
  };
  await using host = await open(rows({ count: 2, text: "hunter2" }), { redact });
  expect(await Array.fromAsync(await host.items())).toEqual([
    expect.stringContaining("redact failed"),
    expect.stringContaining("redact failed"),
  ]);
});

test("a stream holds its place among the executions until it is read", async () => {
  await using host = await open(rows({ count: 5000 }), { executions: { concurrency: 1, queued: 0 } });
  const items = await host.items();
  await expect(host.call()).rejects.toMatchObject({ code: "busy" });
  for await (const _ of items) break;
  expect((await host.call({ gather: true })).ok).toBe(true);
});

test("streamBytes bounds a stream", async () => {
  await using host = await open(rows({ count: 5000 }), { limits: { streamBytes: 1000 } });
  await expect(Array.fromAsync(await host.items())).rejects.toMatchObject({
    cause: failing("result_over_budget", "limit streamBytes"),
  });
});
