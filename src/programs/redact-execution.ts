import { jsonTextOf } from "../values/json/json-text.ts";
import type { Lane } from "../values/slice-scheduler.ts";
import type { About, Redactor } from "../redaction/redactor.ts";
import type { Driven } from "./execution.ts";
import type { Execution } from "./execution.ts";
import type { Completed, Ending, Outcome, Waiting } from "./outcome.ts";
import type { Scope } from "./scope.ts";
import { readReturned } from "./drive/settlement.ts";

/** For a model, and for the report of a program. */
const TO_MODEL: About = { to: "model" };

type Shown = Pick<Driven, "ending" | "logs" | "notes" | "remarks">;

/** Redacts the texts of an execution that a model or the host's report shows, before they are shortened. */
async function redactShown<One extends Shown>(
  shown: One,
  redactor: Redactor,
  outputBytes: number,
  lane: Lane,
): Promise<One & { readonly redacted: number }> {
  let redacted = 0;
  const text = async (given: string) => {
    const one = await redactor.text(given, TO_MODEL);
    redacted += one.taken;
    return one.text;
  };
  const all = (texts: readonly string[]) => inOrder(texts, text);
  const json = async (given: string) => {
    const one = await redactor.json(given, TO_MODEL);
    redacted += one.taken;
    return one.text;
  };
  const ways = { text, json };
  const ending =
    shown.ending.type === "completed"
      ? await redactCompleted(shown.ending, ways, { outputBytes, lane })
      : await redactFailed(shown.ending, ways);
  const { logs } = shown;
  const printed = await text(logs.text);
  const words = { notes: await all(shown.notes), remarks: await all(shown.remarks) };
  return { ...shown, ending, logs: { ...logs, text: printed, bytes: Buffer.byteLength(printed) }, ...words, redacted };
}

/** An execution that was read from its journal, as it may be shown. */
export async function shownExecution(
  execution: Execution,
  { redactor, gate, limits, tenant }: Pick<Scope, "redactor" | "gate" | "limits" | "tenant">,
): Promise<Execution> {
  if (!redactor) return execution;
  const share = gate.held.share(tenant, 0);
  try {
    const calls = await inOrder(execution.calls, async (line) =>
      line.display === undefined ? line : { ...line, display: await redactor.value(line.display, { to: "log" }) },
    );
    return await redactShown({ ...execution, calls }, redactor, limits.outputBytes, share.lane);
  } finally {
    share.end();
  }
}

/** An outcome, as an event tells it. */
export async function redactEnding(outcome: Outcome, redactor: Redactor, about: About): Promise<Outcome> {
  if (outcome.type === "completed") return { ...outcome, value: await redactor.value(outcome.value, about) };
  return redactFailed(outcome, {
    text: async (given) => (await redactor.text(given, about)).text,
    json: async (given) => (await redactor.json(given, about)).text,
  });
}

interface Ways {
  readonly text: (text: string) => Promise<string>;
  readonly json: (json: string) => Promise<string>;
}

interface Reading {
  readonly outputBytes: number;
  readonly lane: Lane;
}

async function redactFailed(ending: Exclude<Ending, Completed>, ways: Ways): Promise<Exclude<Ending, Completed>> {
  const { text } = ways;
  switch (ending.type) {
    case "failed": {
      const { name, message, excerpt, tool, ...rest } = ending.fault;
      const words = {
        name: await text(name),
        message: await text(message),
        ...(excerpt === undefined ? {} : { excerpt: await text(excerpt) }),
        ...(tool === undefined ? {} : { tool: await text(tool) }),
      };
      return { type: "failed", fault: { ...rest, ...words } };
    }
    case "crashed":
      return { ...ending, detail: await text(ending.detail) };
    case "waiting":
      return redactWaiting(ending, ways);
    case "stopped":
    case "cancelled":
      return ending;
  }
}

async function redactCompleted(ending: Completed, { json }: Ways, { outputBytes, lane }: Reading): Promise<Completed> {
  if (ending.text === undefined) return ending;
  const text = await json(ending.text);
  if (text === ending.text) return ending;
  const returned = await readReturned(text, outputBytes, lane);
  const checked = ending.checked && { value: await redactChecked(ending.checked.value, json) };
  return { type: "completed", value: undefined, ...returned, text, ...(checked && { checked }) };
}

/** What a schema has made of a returned value, which may be no JSON: a schema's own code writes it. Then it is left out. */
async function redactChecked(value: unknown, json: Ways["json"]): Promise<unknown> {
  const text = jsonTextOf(value);
  return text === undefined ? undefined : JSON.parse(await json(text));
}

/** The waiting calls of a conversation, as its report shows them. */
export async function shownWaiting(waiting: Waiting, redactor: Redactor | undefined): Promise<Waiting> {
  if (!redactor) return waiting;
  return redactWaiting(waiting, { json: async (given) => (await redactor.json(given, TO_MODEL)).text });
}

async function redactWaiting(waiting: Waiting, { json }: Pick<Ways, "json">): Promise<Waiting> {
  const input = async <Call extends { readonly input: unknown }>(call: Call): Promise<Call> => ({
    ...call,
    input: JSON.parse(await json(JSON.stringify(call.input) ?? "null")) as unknown,
  });
  return {
    type: "waiting",
    approvals: await inOrder(waiting.approvals, input),
    calls: await inOrder(waiting.calls, input),
  };
}

async function inOrder<Item, Made>(
  items: readonly Item[],
  make: (item: Item) => Promise<Made>,
): Promise<readonly Made[]> {
  const made: Made[] = [];
  for (const item of items) made.push(await make(item));
  return made;
}
