import { createHook } from "node:async_hooks";
import { afterEach, expect, test, vi } from "vitest";
import { createRuntime, defineTool, jsonSchema } from "../../src/index.ts";
import { FrameQueue } from "../../src/sandboxes/frame-queue.ts";
import type { Exit, Guest, Sandbox } from "../../src/sandboxes/sandbox.ts";

/*
 * What the host makes and reads for one call: counts, which a busy machine does not change. A guest answers at once, and
 * all turns of events that it was sent together come back together, as from an engine.
 */

interface Calls {
  readonly number: number;
  readonly atOnce: boolean;
}

/** A guest that makes calls of `ping`, all in its first turn or each after the answer of the last. */
class QuickGuest implements Guest {
  readonly frames = new FrameQueue(Number.POSITIVE_INFINITY, () => {});
  readonly #calls: Calls;
  readonly #exited = Promise.withResolvers<Exit>();
  readonly exit = this.#exited.promise;
  #made = 0;
  #answered = 0;

  constructor(calls: Calls) {
    this.#calls = calls;
    setImmediate(() => this.frames.push(['{"kind":"ready","protocol":1,"language":"javascript"}']));
  }

  send(events: readonly string[]): void {
    setImmediate(() => this.frames.push(events.flatMap((event) => this.#turn(event))));
  }

  #turn(event: string): readonly string[] {
    const { number, atOnce } = this.#calls;
    if (!event.startsWith('{"kind":"start"')) this.#answered += 1;
    if (this.#answered === number) return ['{"kind":"settled","ok":true,"notes":[]}\n1'];
    const commands: string[] = [];
    const until = atOnce ? number : Math.min(number, this.#answered + 1);
    for (; this.#made < until; this.#made += 1)
      commands.push(`{"kind":"call","id":${this.#made + 1},"tool":"ping"}\n{"i":${this.#made}}`);
    return [...commands, `{"kind":"turn_end","open":${this.#made - this.#answered}}`];
  }

  usage() {
    return { peakMemoryBytes: 0, processorMs: undefined };
  }

  kill(reason: string): void {
    this.#end({ type: "killed", reason });
  }

  release(): void {
    this.#end({ type: "released" });
  }

  #end(exit: Exit): void {
    this.frames.end();
    this.#exited.resolve(exit);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill("disposed");
  }
}

interface Cost {
  readonly promises: number;
  readonly parsed: number;
  readonly stringified: number;
  readonly bytesCounted: number;
}

const FEW = 100;
const MANY = 500;

/** What one more call costs: the difference between many calls and few. */
async function costOf(atOnce: boolean, handler: (input: { readonly i: number }) => unknown): Promise<Cost> {
  let calls: Calls = { number: 1, atOnce };
  const sandbox: Sandbox = {
    name: "quick",
    languages: ["javascript"],
    open: async () => new QuickGuest(calls),
    [Symbol.asyncDispose]: async () => {},
  };
  const ping = defineTool({
    name: "ping",
    description: "Answers.",
    input: jsonSchema<{ readonly i: number }>({ type: "object", properties: { i: { type: "number" } } }),
    allowedCallers: ["programmatic"],
    effect: "read",
    handler,
  });
  await using runtime = await createRuntime({ tools: [ping], sandbox });
  const run = async (number: number): Promise<Cost> => {
    calls = { number, atOnce };
    let promises = 0;
    const hook = createHook({ init: (_, type) => void (promises += type === "PROMISE" ? 1 : 0) });
    const parse = vi.spyOn(JSON, "parse");
    const stringify = vi.spyOn(JSON, "stringify");
    const byteLength = vi.spyOn(Buffer, "byteLength");
    hook.enable();
    const { outcome } = await runtime.execute("return 1;");
    hook.disable();
    const counts = [parse, stringify, byteLength].map(({ mock }) => mock.calls.length);
    vi.restoreAllMocks();
    expect(outcome).toEqual({ type: "completed", value: 1 });
    const [parsed = 0, stringified = 0, bytesCounted = 0] = counts;
    return { promises, parsed, stringified, bytesCounted };
  };
  await run(FEW);
  const few = await run(FEW);
  const many = await run(MANY);
  const each = (name: keyof Cost) => (many[name] - few[name]) / (MANY - FEW);
  return {
    promises: each("promises"),
    parsed: each("parsed"),
    stringified: each("stringified"),
    bytesCounted: each("bytesCounted"),
  };
}

afterEach(() => vi.restoreAllMocks());

// A busy machine divides work into more slices, and each waits with a promise: the bounds have room for some.
test.each([
  { way: "awaited, of a handler that returns at once", atOnce: false, isAsync: false, promises: 22 },
  { way: "awaited, of an asynchronous handler", atOnce: false, isAsync: true, promises: 26 },
  { way: "of many at once, of a handler that returns at once", atOnce: true, isAsync: false, promises: 17 },
  { way: "of many at once, of an asynchronous handler", atOnce: true, isAsync: true, promises: 21 },
])("a call $way makes no more than $promises promises", async ({ atOnce, isAsync, promises }) => {
  const cost = await costOf(atOnce, isAsync ? async ({ i }) => ({ i }) : ({ i }) => ({ i }));
  expect(cost.promises).toBeLessThanOrEqual(promises);
  expect(cost.parsed).toBeLessThanOrEqual(1);
  expect(cost.stringified).toBeLessThanOrEqual(1);
  expect(cost.bytesCounted).toBeLessThanOrEqual(6);
});
