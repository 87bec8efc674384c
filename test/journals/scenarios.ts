import { z } from "zod";
import {
  createRuntime,
  defineTool,
  type Runtime,
  type RuntimeOptions,
  type ConversationOptions,
} from "../../src/index.ts";
import { createMemoryJournal, type Journal, type JournalRecord } from "../../src/journal/index.ts";
import type { Guest, Sandbox } from "../../src/sandboxes/index.ts";
import { createMemorySandbox, scriptedModel, type ScriptedStep } from "../../src/runtime/testing.ts";

const common = {
  description: "d",
  inputSchema: z.object({ n: z.number() }),
  outputSchema: z.number(),
  allowedCallers: ["direct", "programmatic"],
} as const;

let attempts = 0;
let moves = 0;

/** The tools that all of these executions begin with. */
const TOOLS = [
  defineTool({ ...common, name: "read", effect: "read", execute: ({ n }) => n }),
  defineTool({ ...common, name: "pay", effect: "write", approval: "always", execute: ({ n }) => 10 * n }),
  defineTool({
    ...common,
    name: "move",
    // Each time another number: a call has the one that was shown.
    inputSchema: z.object({ n: z.number().default(() => (moves += 1)) }),
    effect: "write",
    approval: "always",
    execute: ({ n }) => 1000 * n,
  }),
  defineTool({ ...common, name: "put", effect: "write", execute: ({ n }) => 100 * n }),
  defineTool({ ...common, name: "ask", effect: "read", execute: "client" }),
  defineTool({
    ...common,
    name: "busy",
    effect: "read",
    retry: { attempts: 2, delayMs: 0 },
    execute: ({ n }) => {
      attempts += 1;
      if (attempts % 2 === 1) throw new Error("busy");
      return n;
    },
  }),
];

const sandbox = createMemorySandbox();
/** A lease that has ended before anybody looks. */
const OVER = { leaseMs: 100 };

export const openRuntime = (journal: Journal, more: Partial<RuntimeOptions> = {}): Promise<Runtime> =>
  createRuntime({ tools: TOOLS, journal, sandbox, approve: () => "later", ...OVER, ...more });

const SCRIPT: readonly ScriptedStep[] = [
  {
    programs: ["return await tools.pay({ n: 1 }) + await tools.read({ n: 2 })"],
    calls: [
      { id: "pay-1", tool: "pay", input: { n: 3 } },
      { id: "ask-1", tool: "ask", input: { n: 4 } },
    ],
  },
  ({ results }) => ({ text: results.map(({ text }) => text).join(" ") }),
];
export const modelOfAll = () => scriptedModel(SCRIPT);

type Left = (journal: Journal, execution: string) => Promise<unknown>;

const program =
  (source: string, more: Partial<RuntimeOptions> = {}, options: object = {}): Left =>
  async (journal, execution) => {
    await using runtime = await openRuntime(journal, more);
    return await runtime.execute(source, { id: execution, ...options });
  };

/** Copies the records before the first that is not wanted, as if the host had died there. */
const cutBefore =
  (left: Left, isLast: (record: JournalRecord) => boolean): Left =>
  async (journal, execution) => {
    const whole = createMemoryJournal();
    await left(whole, execution);
    const records = await Array.fromAsync(whole.read(execution));
    const end = records.findIndex(isLast);
    const [header, ...others] = records.slice(0, end);
    if (end < 1 || header?.type !== "header") throw new Error(`${execution} has no such record.`);
    await journal.create(header);
    if (others.length > 0) await journal.append(execution, 1, others);
  };

/** A sandbox whose first guest is another one. */
function withFirst(change: (guest: Guest) => Partial<Guest>): Sandbox {
  let guests = 0;
  return {
    ...sandbox,
    async open(options, signal) {
      const guest = await sandbox.open(options, signal);
      guests += 1;
      if (guests > 1) return guest;
      return {
        frames: guest.frames,
        exit: guest.exit,
        usage: () => guest.usage(),
        send: (frames) => guest.send(frames),
        kill: (reason) => guest.kill(reason),
        release: () => guest.release(),
        [Symbol.asyncDispose]: () => guest[Symbol.asyncDispose](),
        ...change(guest),
      };
    },
  };
}

function dyingAtSecondTurn(guest: Guest): Partial<Guest> {
  let turns = 0;
  return {
    exit: guest.exit.then(() => ({ type: "died", detail: "the machine took it" })),
    send: (frames) => {
      turns += 1;
      if (turns === 2) guest.kill("taken");
      else guest.send(frames);
    },
  };
}

async function* withJunk(frames: Guest["frames"]): AsyncGenerator<readonly string[]> {
  for await (const batch of frames) yield [...batch, "no frame"];
}

const connecting: Sandbox = {
  ...sandbox,
  open(options, signal) {
    const to = { host: "allowed.test", port: 443, address: "192.0.2.1", bytesUp: 1, bytesDown: 2 } as const;
    options.onConnection?.({ ...to, ms: 3, outcome: "done", detail: "" });
    return sandbox.open(options, signal);
  },
};

const ALL = `
  const first = await Promise.all([tools.read({ n: 1 }), tools.pay({ n: 2 }), tools.ask({ n: 3 }), tools.busy({ n: 4 })]);
  await save("first", first);
  const second = await Promise.allSettled([tools.pay({ n: 2 }), tools.pay({ n: 5 }), tools.read({ n: "no number" }), tools.put({ n: 6 })]);
  return { first, second: second.map(({ status, value }) => value ?? status) };`;

/** Answers all that an execution waits for, as people and clients would, until it waits for nothing. */
export async function goOn(runtime: Runtime, execution: string) {
  const remember = { allow: true, by: "ann", remember: "execution", grant: { calls: 2 } } as const;
  for (;;) {
    const outcome = await takenUp(runtime, execution);
    if (outcome.type !== "waiting") return outcome;
    const decisions = outcome.approvals.map(({ callId, why, hold }) => {
      if (why === "outcome_unknown") return [callId, { done: { value: 7 }, by: "ann", hold }];
      return [callId, callId === "2" ? remember : { allow: true }];
    });
    if (decisions.length > 0) await runtime.execution(execution).decide(Object.fromEntries(decisions));
    const results = outcome.calls.map(({ callId }) => [callId, { value: 8 }]);
    if (results.length > 0) await runtime.execution(execution).answer(Object.fromEntries(results));
  }
}

async function takenUp(runtime: Runtime, execution: string) {
  const { kind } = await runtime.journal.find(execution);
  if (kind === "program") return (await runtime.execution(execution).resume()).outcome;
  return (await runtime.execution(execution).resume({ model: modelOfAll() })).ending;
}

const ended =
  (left: Left): Left =>
  async (journal, execution) => {
    await left(journal, execution);
    await using runtime = await openRuntime(journal);
    await goOn(runtime, execution);
  };

const talk: Left = async (journal, execution) => {
  await using runtime = await openRuntime(journal);
  return await runtime.agent({ model: modelOfAll(), task: "Do it.", id: execution });
};

/** What each journal of `test/journals` holds, and how it came about. */
export const SCENARIOS: Readonly<Record<string, Left>> = {
  "a-program-that-waits": program(ALL),
  "a-program-that-has-ended": ended(program(ALL)),
  "a-program-that-needs-approval": program("return await tools.read({ n: 1 })", { approvePrograms: true }),
  "a-program-whose-input-was-converted": program("return await tools.move({})"),
  "a-write-whose-host-died": cutBefore(program("return await tools.put({ n: 1 })"), ({ type }) => type === "answered"),
  "a-program-that-corrects-another": async (journal, execution) => {
    const source = "const read = await tools.read({ n: 1 }); return [read, await tools.put({ n: 1 })]";
    await program(`${source}.missing.field`)(journal, `${execution}-before`);
    await program(`${source}.concat("corrected")`, {}, { corrects: `${execution}-before` })(journal, execution);
  },
  "a-program-that-lost-its-guest": program("return await tools.read({ n: 1 })", {
    sandbox: withFirst(dyingAtSecondTurn),
  }),
  "a-program-with-a-connection": program("return 1", { sandbox: connecting }),
  "a-guest-that-broke-the-protocol": program("return 1", {
    sandbox: withFirst(({ frames }) => ({ frames: withJunk(frames) })),
  }),
  "a-driver-that-was-slow": async (journal, execution) => {
    await cutBefore(program("return await tools.read({ n: 1 })"), ({ type }) => type === "turn")(journal, execution);
    const taken: JournalRecord[] = [
      { type: "claim", driver: "slow", leaseMs: 0, at: 1 },
      { type: "hand", to: "program", at: 2 },
      { type: "claim", driver: "next", leaseMs: 0, at: 3 },
      { type: "alive", driver: "slow", at: 4 },
    ];
    await journal.append(execution, 1, taken);
  },
  "a-conversation-that-waits": talk,
  "a-conversation-that-has-ended": ended(talk),
  "a-conversation-that-rests": cutBefore(
    async (journal, execution) => {
      const reads: ScriptedStep = { calls: [{ tool: "read", input: { n: 1 } }], usage: { inputTokens: 900 } };
      const step: ScriptedStep = ({ results }) => (results.length > 0 ? { text: "A." } : reads);
      const model = scriptedModel(Array.from({ length: 6 }, () => step));
      const compact: NonNullable<ConversationOptions["loop"]>["compact"] = (history) => history.slice(-1);
      await using runtime = await openRuntime(journal);
      await using talk = await runtime.conversation({ model, id: execution, loop: { contextTokens: 1000, compact } });
      await talk.send("One.");
      await talk.setTools(TOOLS.slice(0, 2));
      await talk.send("Two.");
    },
    ({ type }) => type === "outcome",
  ),
  "a-conversation-of-another-model": async (journal, execution) => {
    await using runtime = await openRuntime(journal);
    {
      await using first = await runtime.conversation({
        model: scriptedModel([{ text: "A." }]),
        id: `${execution}-before`,
      });
      await first.send("One.");
    }
    const model = scriptedModel([{ text: "A." }, { text: "B." }], { name: "other" });
    await using second = await runtime.conversation({ model, from: `${execution}-before`, id: execution });
    await second.send("Two.");
  },
  "a-call-that-has-ended": async (journal) => {
    await using runtime = await openRuntime(journal, { approve: () => true });
    await runtime.call({ tool: "pay", input: { n: 1 }, caller: "direct" });
  },
};
