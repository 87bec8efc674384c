import { afterAll, describe, expect, test } from "vitest";
import { createRuntime } from "../../../src/index.ts";
import { createIsolateSandbox } from "../../../src/sandboxes/index.ts";
import { createMemorySandbox } from "../../../src/runtime/testing.ts";
import { type Connection, type Exit, QueueFull, type Sandbox } from "../../../src/sandboxes/sandbox.ts";
import { call, guestThatSays, READY, settled, type Turn, turnEnd } from "../../hostile-support/frames.ts";
import { ALL_TESTS, echo, runtimeWith, throws, tool } from "../../support/index.ts";
import { manualClock } from "../../support/clock.ts";
import { enginesOf } from "../../support/engines.ts";

const SETTLED = settled('"done"');
const DEATH = throws("the machine took it");

/** Guests that say these frames to these events, one list a guest. */
function scripted(...scripts: readonly (readonly Turn[])[]): {
  readonly sandbox: Sandbox;
  readonly opened: () => number;
} {
  let opened = 0;
  const guest = () => {
    opened += 1;
    return guestThatSays([READY], ...(scripts[Math.min(opened, scripts.length) - 1] ?? []));
  };
  return { sandbox: createMemorySandbox({ guest }), opened: () => opened };
}

async function execute({ sandbox }: ReturnType<typeof scripted>, tools = [echo]) {
  await using runtime = await createRuntime({ tools, sandbox });
  const report = await runtime.execute("unused");
  return { ...report, records: await Array.fromAsync(runtime.journal.read(report.execution)) };
}

test("if a guest dies, another one replays its turns and continues", async () => {
  const first = [[call(1, "echo"), turnEnd(1)], DEATH] as const;
  const second = [[call(1, "echo"), turnEnd(1)], [call(2, "echo"), turnEnd(1)], [SETTLED]];
  const { outcome, usage, calls, records } = await execute(scripted(first, second));
  expect(outcome).toEqual({ type: "completed", value: "done" });
  expect(usage.restarts).toBe(1);
  expect(calls.map(({ callId }) => callId)).toEqual(["1", "2"]);
  expect(records.filter(({ type }) => type === "restart")).toMatchObject([{ detail: "the machine took it" }]);
});

const ONE_CALL = [call(1, "echo"), turnEnd(1)];
const CALLS = Array.from({ length: 60 }, (_, index) => [call(index + 1, "echo"), turnEnd(1)]);
const MARKED = [call(1, "echo"), '{"kind":"unreplayable","cause":"files"}', turnEnd(1)];

test.each<[what: string, guests: readonly (readonly Turn[])[], opened: number, code: string, detail: string]>([
  ["guests that die without progress, after three replays", [[DEATH]], 4, "engine_died", "the machine took it"],
  [
    "guests that die with progress between, after the 20th replay",
    CALLS.map((_, index) => [...CALLS.slice(0, index + 1), DEATH]),
    21,
    "engine_died",
    "the machine took it",
  ],
  [
    "a guest that differs from the journal in a replay",
    [[ONE_CALL, DEATH], [[call(1, "other"), turnEnd(1)]]],
    2,
    "replay_diverged",
    "at turn 0: the program did",
  ],
  [
    "the death of a guest that is marked unreplayable",
    [[MARKED, DEATH]],
    1,
    "engine_died",
    "the machine took it; it was not replayed, because the program had used state that a replay cannot reproduce (files)",
  ],
])("an execution ends with %s", async (_, scripts, opened, code, detail) => {
  const guests = scripted(...scripts);
  const { outcome, usage } = await execute(guests);
  const told = code === "engine_died" ? detail : (expect.stringContaining(detail) as string);
  expect(outcome).toEqual({ type: "crashed", code, detail: told });
  expect([guests.opened(), usage.restarts]).toEqual([opened, opened - 1]);
});

test("all replays of a program that dies repeatedly take no longer than cpuMs", async () => {
  const clock = manualClock();
  let seen = 0;
  let replayedMs = 0;
  /** Gets one turn further than the one before it, and dies in the next. */
  const guest = () => {
    const replayed = seen;
    const turn = (index: number) => () => {
      if (index > replayed) return DEATH();
      if (index === seen) seen += 1;
      else replayedMs += 30;
      clock.block(30);
      return [call(index + 1, "echo"), turnEnd(1)];
    };
    return guestThatSays([READY], ...Array.from({ length: 100 }, (_, index) => turn(index)));
  };
  await using runtime = await createRuntime({
    tools: [echo],
    sandbox: createMemorySandbox({ guest }),
    limits: { cpuMs: 1000 },
  });
  const { outcome } = await runtime.execute("unused");
  expect(outcome).toMatchObject({ type: "crashed", code: "engine_died" });
  expect((outcome as { detail: string }).detail).toContain("replaying its turns took longer");
  expect(replayedMs).toBeLessThanOrEqual(1000 + 30);
});

/** A sandbox that has a guest to give when it is told to. */
function busy({ sandbox }: ReturnType<typeof scripted>) {
  const [asked, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const open: Sandbox["open"] = async (options, abort) => {
    asked.resolve();
    const { promise, reject } = Promise.withResolvers<never>();
    abort.addEventListener("abort", () => reject(abort.reason as Error));
    await Promise.race([free.promise, promise]);
    return sandbox.open(options, abort);
  };
  return { sandbox: { ...sandbox, open }, asked: asked.promise, free: free.resolve };
}

test("a program that waits too long for a guest is stopped by queueMs and has done nothing", async () => {
  const guests = scripted([[call(1, "echo"), turnEnd(1)]]);
  await using runtime = await createRuntime({
    tools: [echo],
    sandbox: busy(guests).sandbox,
    limits: { queueMs: 30, wallMs: 10 },
  });
  const { outcome, calls, usage } = await runtime.execute("unused");
  expect(outcome).toEqual({ type: "stopped", limit: "queueMs", allowed: 30, seen: 30 });
  expect([calls, usage.cpuMs, usage.restarts, guests.opened()]).toEqual([[], 0, 0, 0]);
});

test("no clock of a program, its Date included, starts before it has a guest", async () => {
  const events: string[] = [];
  const { sandbox, asked, free } = busy(
    scripted([
      (event) => {
        events.push(event);
        return [SETTLED];
      },
    ]),
  );
  const clock = manualClock();
  await using runtime = await createRuntime({ tools: [], sandbox, limits: { wallMs: 200, cpuMs: 200 } });
  const running = runtime.execute("unused");
  await asked;
  await clock.advance(300);
  const freedAt = clock.now();
  free();
  const { outcome } = await running;
  expect(outcome).toEqual({ type: "completed", value: "done" });
  expect((JSON.parse(events[0]?.split("\n")[0] ?? "") as { now: number }).now).toBe(freedAt);
});

test("a program that finds the queue full is stopped at once by the limit queue", async () => {
  const guests = scripted([]);
  const open: Sandbox["open"] = () => Promise.reject(new QueueFull(7));
  const { outcome, output } = await execute({ ...guests, sandbox: { ...guests.sandbox, open } });
  expect(outcome).toEqual({ type: "stopped", limit: "queue", allowed: 7, seen: 7 });
  expect(output.text).toContain("Run it again later, unchanged");
});

test("a guest that settles while other events are outstanding is killed, not released", async () => {
  const exits: Exit[] = [];
  const guests = scripted([[call(1, "echo"), call(2, "echo"), turnEnd(2)], [SETTLED]]);
  const open: Sandbox["open"] = async (options, abort) => {
    const guest = await guests.sandbox.open(options, abort);
    void guest.exit.then((exit) => exits.push(exit));
    return guest;
  };
  const { outcome } = await execute({ ...guests, sandbox: { ...guests.sandbox, open } });
  expect(outcome).toEqual({ type: "completed", value: "done" });
  expect(exits).toEqual([{ type: "killed", reason: "it settled while other events were outstanding" }]);
});

const NO_MEMORY: Sandbox["open"] = () => Promise.reject(new Error("no memory left"));

test("if no further guest can be opened, the calls made so far are reported", async () => {
  const guests = scripted([[call(1, "echo"), turnEnd(1)], DEATH]);
  const open: Sandbox["open"] = (...given) =>
    guests.opened() === 0 ? guests.sandbox.open(...given) : NO_MEMORY(...given);
  const { outcome, calls, records } = await execute({ ...guests, sandbox: { ...guests.sandbox, open } });
  expect(outcome).toEqual({ type: "crashed", code: "engine_died", detail: "no memory left" });
  expect(calls).toMatchObject([{ tool: "echo", outcome: { type: "value" } }]);
  expect(records.at(-1)).toMatchObject({ type: "outcome" });
});

test("an execution without any guest rejects, and its journal has an outcome", async () => {
  await using runtime = await createRuntime({ tools: [echo], sandbox: { ...scripted([]).sandbox, open: NO_MEMORY } });
  await expect(runtime.execute("unused")).rejects.toThrow("no memory left");
  expect(await Array.fromAsync(runtime.journal.list())).toMatchObject([{ ended: true }]);
});

test("a program that has settled gets no events while its large value is read", async () => {
  const large = `{"kind":"settled","ok":true,"notes":[]}\n[${"[],".repeat(400_000)}0]`;
  const timers = Array.from({ length: 20 }, (_, index) => `{"kind":"timer","id":${index + 1},"ms":1}`);
  const events: string[] = [];
  const say = (event: string) => {
    events.push(event);
    return [...timers, large];
  };
  await using runtime = await createRuntime({
    tools: [echo],
    sandbox: scripted([say, say]).sandbox,
    limits: { resultBytes: 64 * 1024 * 1024 },
  });
  const { outcome } = await runtime.execute("unused");
  expect(outcome).toMatchObject({ type: "completed", value: { count: 400_001 } });
  expect(events).toHaveLength(1);
});

test("output that was received before a guest's death is not reported twice", async () => {
  const output = '{"kind":"output","stream":"stdout","dropped":0}\n"hello\\n"';
  const first = [[output, call(1, "echo"), turnEnd(1)], DEATH] as const;
  const second = [[output, call(1, "echo"), turnEnd(1)], [SETTLED]];
  expect((await execute(scripted(first, second))).logs.text).toBe("hello\n");
});

/** A sandbox with a way out, by which each guest makes these connections before anything is heard of it. */
function connecting({ sandbox }: ReturnType<typeof scripted>, connections: readonly Connection[]): Sandbox {
  return {
    ...sandbox,
    open(options, signal) {
      for (const connection of connections) options.onConnection?.(connection);
      return sandbox.open(options, signal);
    },
  };
}

const connection: Connection = {
  host: "allowed.test",
  port: 443,
  address: "192.0.2.1",
  bytesUp: 10,
  bytesDown: 200,
  ms: 5,
  outcome: "done",
  detail: "",
};

test("connections by egress are journalled and counted, and an execution with one is not replayed", async () => {
  const guests = scripted([[SETTLED]]);
  await using runtime = await createRuntime({ tools: [], sandbox: connecting(guests, [connection, connection]) });
  const { execution, usage } = await runtime.execute("unused");
  expect(usage.connections).toEqual({ count: 2, bytesUp: 20, bytesDown: 400 });
  const records = await Array.fromAsync(runtime.journal.read(execution));
  expect(records.map(({ type }) => type)).toEqual(["header", "egress", "egress", "turn", "outcome"]);
  expect(records[1]).toEqual({ type: "egress", ...connection, at: expect.any(Number) });
  expect(await runtime.execution(execution).replay()).toEqual({ type: "unreplayable", cause: "network" });
  expect(guests.opened()).toBe(1);
});

test("a guest that dies after a connection by egress is not replaced", async () => {
  const guests = scripted([DEATH]);
  await using runtime = await createRuntime({ tools: [], sandbox: connecting(guests, [connection]) });
  const { outcome } = await runtime.execute("unused");
  expect(outcome).toMatchObject({ type: "crashed", code: "engine_died" });
  expect((outcome as { detail: string }).detail).toContain("it was not replayed");
  expect(guests.opened()).toBe(1);
});

test("a violation ends the execution, is journalled, and reaches no handler", async () => {
  let handled = 0;
  const counting = tool("echo", () => (handled += 1));
  const { outcome, records } = await execute(scripted([[call(2, "echo"), call(1, "echo"), turnEnd(2)]]), [counting]);
  expect(outcome).toEqual({
    type: "crashed",
    code: "bridge_broken",
    detail: expect.stringContaining("the id 1 after 2"),
  });
  expect(records.filter(({ type }) => type === "violation")).toHaveLength(1);
  expect(handled).toBe(0);
});

describe("an engine that is killed", () => {
  const sandbox = createIsolateSandbox({ engines: 1, warm: 1 });
  afterAll(() => sandbox[Symbol.asyncDispose]());
  const kill = () => {
    const killed = enginesOf();
    for (const pid of killed) process.kill(pid, "SIGKILL");
    return killed;
  };

  test.each(ALL_TESTS ? [1, 2, 3, 4] : [2])(
    "is replaced after turn %i, and no completed call is repeated",
    async (death) => {
      const handled: unknown[] = [];
      const step = tool("step", (input) => {
        handled.push(input);
        if (handled.length === death) kill();
        return input;
      });
      await using runtime = await createRuntime({ sandbox, tools: [step] });
      const program =
        "const seen = [];\nfor (let n = 0; n < 4; n += 1) seen.push([(await tools.step({ n, dice: Math.random() })).n, Date.now()]);\nreturn seen.map(([n]) => n);";
      const report = await runtime.execute(program);
      expect(report.outcome).toEqual({ type: "completed", value: [0, 1, 2, 3] });
      expect(report.usage.restarts).toBe(1);
      expect(handled).toHaveLength(4);
      expect(await runtime.execution(report.execution).replay()).toEqual({ type: "identical" });
    },
  );

  test("leaves its open call to the next one", async () => {
    let handled = 0;
    const slow = tool("slow", async () => {
      handled += 1;
      const killed = kill();
      await expect.poll(() => enginesOf().filter((pid) => killed.includes(pid))).toEqual([]);
      return "late";
    });
    await using runtime = await createRuntime({ sandbox, tools: [slow] });
    const { outcome } = await runtime.execute("return tools.slow();");
    expect(outcome).toEqual({ type: "completed", value: "late" });
    expect(handled).toBe(1);
  });
});

test("a guest that sends more than totalBytes in one turn is stopped before the turn ends", async () => {
  const print = `{"kind":"output","stream":"stdout","dropped":0}\n${JSON.stringify("x".repeat(3_000_000))}`;
  const { sandbox } = scripted([[print, print, print, call(1, "echo")]]);
  await using runtime = await createRuntime({ tools: [echo], sandbox, limits: { totalBytes: 2 } });
  const { outcome, calls, logs } = await runtime.execute("unused");
  expect(outcome).toMatchObject({ type: "stopped", limit: "totalBytes", allowed: 2 });
  expect([calls, logs.text]).toEqual([[], ""]);
});

test.each(["1", "[]", "null", '{"a":1}', '"a', '"a"b'])(
  "a guest that prints %s, which is not a JSON string, breaks the bridge",
  async (body) => {
    const print = `{"kind":"output","stream":"stdout","dropped":0}\n${body}`;
    const { outcome } = await execute(scripted([[print, turnEnd(0)]]));
    expect(outcome).toEqual({
      type: "crashed",
      code: "bridge_broken",
      detail: expect.stringContaining("output frame"),
    });
  },
);

// An input of ASCII characters has one byte for each, which is known without a count.
test.each([
  ["x", { type: "completed", value: 400_000 }],
  ["→", { type: "stopped", limit: "inputBytes", allowed: 1_048_576, seen: 1_200_011 }],
])("the input of a call counts in bytes of UTF-8: %s", async (character, outcome) => {
  await using runtime = await runtimeWith([echo]);
  const text = `"${character}".repeat(400_000)`;
  const report = await runtime.execute(`return (await tools.echo({ text: ${text} })).text.length;`);
  expect(report.outcome).toMatchObject(outcome);
});
