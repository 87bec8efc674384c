import { AsyncLocalStorage, createHook } from "node:async_hooks";
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { PassThrough, Writable } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { FrameDecoder } from "../../bridge/wire.ts";
import { createRuntime, jsonSchema } from "../../src/index.ts";
import { FrameChannel } from "../../src/sandboxes/frame-channel.ts";
import type { Exit, Guest, Sandbox } from "../../src/sandboxes/sandbox.ts";
import { changedClock } from "../support/clock.ts";
import { makeTool } from "../support/tools.ts";

/*
 * What the host makes and reads for one call: counts, which a busy machine does not change. A guest answers at once, and
 * all turns of events that it was sent together come back together, as from an engine.
 */

interface Calls {
  readonly number: number;
  readonly atOnce: boolean;
}

const PREFIX_BYTES = 4;

/** A guest that makes calls of `ping`, all in its first turn or each after the answer of the last. */
class QuickGuest implements Guest {
  readonly #channel = new FrameChannel();
  readonly #decoder = new FrameDecoder(Number.POSITIVE_INFINITY);
  readonly frames = this.#channel.frames;
  writes = 0;
  readonly #calls: Calls;
  readonly #exited = Promise.withResolvers<Exit>();
  readonly exit = this.#exited.promise;
  #made = 0;
  #answered = 0;

  constructor(calls: Calls) {
    this.#calls = calls;
    const sink = new Writable({
      write: (bytes: Buffer, _, done) => {
        this.writes += 1;
        const events = this.#decoder.push(bytes);
        setImmediate(() => this.#reply(events.flatMap((event) => this.#turn(event))));
        done();
      },
    });
    this.#channel.connect(new PassThrough(), sink);
    this.#channel.allow(Number.POSITIVE_INFINITY);
    setImmediate(() => this.#reply(['{"kind":"ready","protocol":1,"language":"javascript"}']));
  }

  send(events: readonly string[]): void {
    this.#channel.send(events);
  }

  /** The frames have one byte for each character. They are made without the functions that are counted. */
  #reply(frames: readonly string[]): void {
    const bytes = Buffer.alloc(frames.reduce((sum, { length }) => sum + PREFIX_BYTES + length, 0));
    let at = 0;
    for (const frame of frames) {
      at = bytes.writeUInt32BE(frame.length, at);
      at += bytes.write(frame, at, "latin1");
    }
    this.frames.push(this.#channel.decode(bytes));
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
  /** Copies of texts and bytes, as `Buffer` and `TextEncoder` make them. */
  readonly copies: number;
  /** Digests of texts. */
  readonly digests: number;
  /** Writes to the guest. */
  readonly writes: number;
}

const FEW = 100;
const MANY = 500;

/** Whose promises count: other files of this process have left work behind, which goes on meanwhile. */
const counting = new AsyncLocalStorage<true>();

/** What one more call costs: the difference between many calls and few. */
async function costOf(atOnce: boolean, handler: (input: { readonly i: number }) => unknown): Promise<Cost> {
  let calls: Calls = { number: 1, atOnce };
  let guest: QuickGuest | undefined;
  const sandbox: Sandbox = {
    name: "quick",
    languages: ["javascript"],
    open: async () => (guest = new QuickGuest(calls)),
    [Symbol.asyncDispose]: async () => {},
  };
  const ping = makeTool({
    name: "ping",
    inputSchema: jsonSchema<{ readonly i: number }>({ type: "object", properties: { i: { type: "number" } } }),
    execute: handler,
  });
  // Work is divided by the time that it takes, and each part of it waits with a promise: here nothing takes time.
  changedClock({ monotonic: () => 0 });
  await using runtime = await createRuntime({ tools: [ping], sandbox });
  const run = async (number: number): Promise<Cost> => {
    calls = { number, atOnce };
    let promises = 0;
    const hook = createHook({
      init: (_, type) => void (promises += type === "PROMISE" && counting.getStore() ? 1 : 0),
    });
    const parse = vi.spyOn(JSON, "parse");
    const stringify = vi.spyOn(JSON, "stringify");
    const byteLength = vi.spyOn(Buffer, "byteLength");
    const hash = vi.spyOn(crypto, "hash");
    syncBuiltinESMExports();
    const copying = [
      vi.spyOn(Buffer, "from"),
      vi.spyOn(Buffer, "concat"),
      vi.spyOn(TextEncoder.prototype, "encode"),
      vi.spyOn(TextEncoder.prototype, "encodeInto"),
    ];
    hook.enable();
    const { outcome } = await counting.run(true, () => runtime.execute("return 1;"));
    hook.disable();
    const counts = [parse, stringify, byteLength, hash].map(({ mock }) => mock.calls.length);
    const copies = copying.reduce((sum, { mock }) => sum + mock.calls.length, 0);
    vi.restoreAllMocks();
    syncBuiltinESMExports();
    expect(outcome).toEqual({ type: "completed", value: 1 });
    const [parsed = 0, stringified = 0, bytesCounted = 0, digests = 0] = counts;
    return { promises, parsed, stringified, bytesCounted, copies, digests, writes: guest?.writes ?? 0 };
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
    copies: each("copies"),
    digests: each("digests"),
    writes: each("writes"),
  };
}

afterEach(() => vi.restoreAllMocks());

test.each([
  { way: "awaited, of a handler that returns at once", atOnce: false, isAsync: false, promises: 22 },
  { way: "awaited, of an asynchronous handler", atOnce: false, isAsync: true, promises: 26 },
  { way: "of many at once, of a handler that returns at once", atOnce: true, isAsync: false, promises: 10 },
  { way: "of many at once, of an asynchronous handler", atOnce: true, isAsync: true, promises: 14 },
])("a call $way makes no more than $promises promises", async ({ atOnce, isAsync, promises }) => {
  const cost = await costOf(atOnce, isAsync ? async ({ i }) => ({ i }) : ({ i }) => ({ i }));
  expect(cost.promises).toBeLessThanOrEqual(promises);
  expect(cost.parsed).toBeLessThanOrEqual(1);
  expect(cost.stringified).toBeLessThanOrEqual(1);
  // Of the two frames of a guest, of the result, and of the frame that carries it.
  expect(cost.bytesCounted).toBeLessThanOrEqual(4);
  expect(cost.copies).toBe(0);
  // The journal holds it.
  expect(cost.digests).toBe(1);
  expect(cost.writes).toBeLessThanOrEqual(atOnce ? 0.5 : 1);
});
