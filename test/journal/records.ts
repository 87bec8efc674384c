import type { Header, JournalRecord } from "../../src/journal/index.ts";

type ProgramHeader = Extract<Header, { readonly kind: "program" }>;
type RecordOf<Type extends JournalRecord["type"]> = Extract<JournalRecord, { readonly type: Type }>;

export function header(execution: string, changes: Partial<ProgramHeader> = {}): ProgramHeader {
  return {
    type: "header",
    kind: "program",
    format: 1,
    execution,
    tenant: "default",
    startedAt: 1_700_000_000_000,
    language: "javascript",
    sandbox: "memory",
    program: "return 1",
    source: "return 1",
    tools: [{ name: "crm.find", digest: "ab" }],
    limits: { calls: 10 },
    versions: { node: "24.0.0" },
    ...changes,
  };
}

export const turn = (event: string, ...commands: string[]): RecordOf<"turn"> => ({ type: "turn", event, commands });
export const outcome: RecordOf<"outcome"> = { type: "outcome", outcome: '{"type":"completed"}', at: 1_700_000_000_001 };

/** One record of every kind that may stand between the first and the last. */
export const RECORDS: readonly JournalRecord[] = [
  turn('{"kind":"start"}\n{}', '{"kind":"call"}\n{"a":"\\u0000 ü 😀"}'),
  { type: "call", call: "1", tool: "crm.find", caller: "programmatic", decision: "allowed", inputDigest: "ab", at: 5 },
  { type: "call", call: "2", tool: "no.tool", caller: "direct", decision: "refused", code: "tool_unknown", at: 6 },
  { type: "call", call: "3", tool: "crm.find", caller: "programmatic", decision: "dropped", at: 7 },
  { type: "violation", detail: "The guest greeted twice.", at: 8 },
  { type: "restart", detail: "the engine ended", at: 9 },
  { type: "claim", driver: "d1", leaseMs: 15_000, at: 10 },
  { type: "message", from: "model", message: "{}", opaque: "sealed", at: 11 },
  { type: "message", from: "user", message: "[]", at: 11 },
  { type: "rest", ending: '{"type":"cancelled"}', at: 11 },
  { type: "model", model: "scripted:other", at: 11 },
  { type: "tools", tools: [{ name: "crm.find", digest: "ab" }], shown: [{ name: "crm.find", digest: "cd" }], at: 11 },
  { type: "compact", history: "[]", at: 11 },
  { type: "retry", attempt: 1, reason: "overloaded", delayMs: 500, at: 12 },
  { type: "call", call: "4", tool: "crm.pay", caller: "direct", decision: "held", inputDigest: "cd", at: 13 },
  { type: "decision", call: "4", allow: true, by: "ann", note: "checked", remember: "execution", at: 14 },
  { type: "decision", call: "5", allow: true, by: "ann", remembered: "4", at: 14 },
  { type: "result", call: "5", value: "[1]", at: 15 },
  { type: "answered", call: "4", ok: false, code: "handler_failed", ms: 1.5, bytes: 0, at: 16 },
  {
    type: "egress",
    host: "example.com",
    port: 443,
    address: "203.0.113.1",
    bytesUp: 1,
    bytesDown: 2,
    ms: 3,
    outcome: "done",
    detail: "",
    at: 17,
  },
];
