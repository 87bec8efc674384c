import type { GateLimits } from "../../src/gate/admit/budget.ts";
import type { Approve } from "../../src/gate/approve/approval.ts";
import type { Policy, PolicyName } from "../../src/gate/approve/policy.ts";
import { Gate } from "../../src/gate/gate.ts";
import type { CallRequest, PastCall } from "../../src/gate/open-call.ts";
import type { CallEvent, EventFields } from "../../src/gate/call-event.ts";
import type { GateLog } from "../../src/gate/call-ledger.ts";
import type { GateSession, PastUse } from "../../src/gate/session.ts";
import type { UnreadAnswers } from "../../src/gate/run/unread-answers.ts";
import type { JournalRecord } from "../../src/journal/record.ts";
import type { Caller, Tool } from "../../src/tools/tool.ts";
import { makeTool } from "../support/tools.ts";
import { ToolSet } from "../../src/tools/tool-set.ts";
import type { HeldBytes, Share } from "../../src/base/index.ts";

export { makeTool };

export const ROOMY: GateLimits = {
  calls: 1000,
  concurrentCalls: 100,
  inputBytes: 1_000_000,
  inputValues: 40_000,
  resultBytes: 1_000_000,
  resultValues: 4_000_000,
  totalBytes: 10_000_000,
};

export interface SessionParts {
  readonly gate?: Gate;
  readonly tools?: readonly Tool[];
  readonly approve?: Approve;
  readonly policies?: readonly (Policy | PolicyName)[];
  readonly context?: unknown;
  /** `acme` by default. */
  readonly tenant?: string;
  readonly held?: HeldBytes;
  /** By default one that ends with the session. */
  readonly share?: Share;
  readonly limits?: Partial<GateLimits>;
  readonly callers?: readonly Caller[];
  readonly execution?: string;
  readonly append?: GateLog["append"];
  readonly past?: PastUse;
  readonly canWait?: boolean;
  readonly unread?: UnreadAnswers;
}

export interface OpenSession {
  readonly session: GateSession;
  /** What was journalled, deferred records among them. */
  readonly records: JournalRecord[];
  readonly events: EventFields<CallEvent>[];
  /** Calls `t` as a program with this input, but for what is said here. */
  readonly call: (input?: unknown, changes?: Partial<CallRequest>, past?: PastCall) => ReturnType<GateSession["call"]>;
}

/** A session at a gate, with what it journals and tells. */
export function openSession(parts: SessionParts = {}): OpenSession {
  const { tools = [makeTool()], approve, policies, callers = ["programmatic"], execution = "execution" } = parts;
  const gate = parts.gate ?? new Gate(new ToolSet(tools), parts.held);
  const records: JournalRecord[] = [];
  const events: EventFields<CallEvent>[] = [];
  const session = gate.open({
    execution,
    scope: { tenant: parts.tenant ?? "acme", context: parts.context, approve, policies },
    callers,
    limits: { ...ROOMY, ...parts.limits },
    unread: parts.unread,
    ...(parts.share && { share: parts.share }),
    past: parts.past,
    canWait: parts.canWait ?? false,
    log: {
      append: async (record) => {
        records.push(record);
        await parts.append?.(record);
      },
      appendSafely: async (record) => {
        records.push(record);
        await parts.append?.(record);
      },
      defer: (record) => records.push(record),
      catchUp: async () => {},
    },
    onEvent: (event) => events.push(event),
  });
  let calls = 0;
  const call: OpenSession["call"] = (input = {}, changes = {}, past) => {
    calls += 1;
    const inputText = JSON.stringify(input);
    return session.call({ callId: String(calls), tool: "t", caller: "programmatic", inputText, ...changes }, past);
  };
  return { session, records, events, call };
}

/** A handler whose calls stay open until they are released, in the order they began. */
export function holdCalls() {
  const open: ((value: unknown) => void)[] = [];
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  const counts = { started: 0, running: 0, mostAtOnce: 0 };
  const held = {
    counts,
    handler: () => {
      counts.started += 1;
      counts.running += 1;
      counts.mostAtOnce = Math.max(counts.mostAtOnce, counts.running);
      for (const { count, resolve } of waiting) if (counts.started >= count) resolve();
      return new Promise((resolve) => {
        open.push(resolve);
      });
    },
    /** Resolves once so many calls have begun. */
    untilStarted: (count: number) =>
      new Promise<void>((resolve) => {
        if (counts.started >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    /** Ends the call that has been running longest. */
    release: (value: unknown = "released") => {
      counts.running -= 1;
      open.shift()?.(value);
    },
    /** Ends one call after the other until so many have begun, and then those that run. */
    finish: async (count: number) => {
      for (let started = counts.started + 1; started <= count; started += 1) {
        held.release();
        await held.untilStarted(started);
      }
      while (counts.running > 0) held.release();
    },
  };
  return held;
}

/** Resolves when everything that could happen without new input has happened. */
export function idle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** What is journalled of calls, in its order: each call's id and a word for the record. */
export function stepsOf(records: readonly JournalRecord[]): readonly string[] {
  return records.flatMap((record) => {
    if (record.type === "call") return [`${record.call} ${record.decision}`];
    if (record.type === "decision") return [`${record.call} ${record.allow ? "approved" : "denied"}`];
    return record.type === "answered" ? [`${record.call} ${record.type}`] : [];
  });
}
