import { jsonTextOf, type Lane, readUpTo } from "../base/index.ts";
import type { About, Redaction, Redactor } from "../journal/redaction/redactor.ts";
import { type ShownLogs, shownLogs } from "./drive/log-collector.ts";
import type { Execution } from "./execution.ts";
import type { Limits } from "./limits.ts";
import type { CompletedOutcome, Ending, Fault, Outcome, Waiting } from "./outcome.ts";
import type { Scope } from "./scope.ts";

const TO_MODEL: About = { to: "model" };
export const TO_LOG: About = { to: "log" };

/** Redacts the texts of an execution that a model or the host's report shows, before they are shortened. */
async function redactShown(
  shown: Execution,
  redactor: Redactor,
  { outputBytes, logBytes }: Limits,
  lane: Lane,
): Promise<Execution> {
  const redaction = redactor.for(TO_MODEL);
  const ending =
    shown.ending.type === "completed"
      ? await redactCompleted(shown.ending, redaction, outputBytes, lane)
      : await redactFailed(shown.ending, redaction);
  const logs = await redactLogs(shown, redaction, logBytes);
  const notes = await Array.fromAsync(shown.notes, redaction.text);
  const remarks = await Array.fromAsync(shown.remarks, redaction.text);
  return { ...shown, ...logs, ending, notes, remarks, redacted: redaction.count };
}

async function redactLogs(
  { logs, printed }: Pick<Execution, "logs" | "printed">,
  redaction: Redaction,
  logBytes: number,
): Promise<ShownLogs> {
  if (printed) {
    const redacted = await Array.fromAsync(printed, async ({ dropped, text }) => ({
      dropped,
      text: await redaction.text(text),
    }));
    return shownLogs(redacted, logBytes);
  }
  const text = await redaction.text(logs.text);
  return { logs: { ...logs, text, bytes: Buffer.byteLength(text) }, printed };
}

export async function shownExecution(
  execution: Execution,
  { redactor, gate, limits, tenant }: Pick<Scope, "redactor" | "gate" | "limits" | "tenant">,
): Promise<Execution> {
  if (!redactor) return execution;
  const share = gate.held.share(tenant, 0);
  try {
    const calls = await Array.fromAsync(execution.calls, async (line) =>
      line.display === undefined ? line : { ...line, display: await redactor.value(line.display, TO_LOG) },
    );
    return await redactShown({ ...execution, calls }, redactor, limits, share.lane);
  } finally {
    share.end();
  }
}

export async function redactEnding(outcome: Outcome, redactor: Redactor): Promise<Outcome> {
  if (outcome.type === "completed") return { ...outcome, value: await redactor.value(outcome.value, TO_LOG) };
  return redactFailed(outcome, redactor.for(TO_LOG));
}

async function redactFailed(
  ending: Exclude<Ending, CompletedOutcome>,
  redaction: Redaction,
): Promise<Exclude<Ending, CompletedOutcome>> {
  const { text } = redaction;
  switch (ending.type) {
    case "failed": {
      // A program gives its errors any code, too.
      const { line: _line, column: _column, ...texts } = ending.fault;
      const words = await Array.fromAsync(Object.entries(texts), async ([name, word]) => [
        name,
        word && (await text(word)),
      ]);
      return { type: "failed", fault: { ...ending.fault, ...(Object.fromEntries(words) as Partial<Fault>) } };
    }
    case "crashed":
      return { ...ending, detail: await text(ending.detail) };
    case "waiting":
      return redactWaiting(ending, redaction);
    case "stopped":
    case "cancelled":
      return ending;
  }
}

async function redactCompleted(
  ending: CompletedOutcome,
  { json }: Redaction,
  outputBytes: number,
  lane: Lane,
): Promise<CompletedOutcome> {
  if (ending.text === undefined) return ending;
  const text = await json(ending.text);
  if (text === ending.text) return ending;
  const returned = await readUpTo(text, outputBytes, lane);
  // What a schema has made of a returned value may be no JSON: a schema's own code writes it. Then it is left out.
  const valueText = jsonTextOf(ending.checked?.value);
  const checked = ending.checked && {
    value: valueText === undefined ? undefined : (JSON.parse(await json(valueText)) as unknown),
  };
  return { type: "completed", value: undefined, ...returned, text, checked };
}

/** The waiting calls of a conversation, as its report shows them. */
export async function shownWaiting(waiting: Waiting, redactor: Redactor | undefined): Promise<Waiting> {
  return redactor ? redactWaiting(waiting, redactor.for(TO_MODEL)) : waiting;
}

async function redactWaiting(waiting: Waiting, { json }: Redaction): Promise<Waiting> {
  const redacted = async (value: unknown) => JSON.parse(await json(JSON.stringify(value) ?? "null")) as unknown;
  // What a client runs its tool with, in `calls`, is the input itself, as for any handler.
  const approvals = await Array.fromAsync(waiting.approvals, async (call) => ({
    ...call,
    input: await redacted(call.input),
    rawInput: call.rawInput === undefined ? undefined : await redacted(call.rawInput),
  }));
  return { ...waiting, approvals };
}
