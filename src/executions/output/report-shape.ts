import { z } from "zod";
import { CALL_LINE, numberField } from "../../gate/call-line.ts";
import { CLIENT_OUTCOME, CONNECTIONS, LOGS, NOT_EVICTED, UNREPLAYABLE } from "../outcome.ts";
import type { SchemaType } from "../../base/index.ts";
import { objectSchema } from "../../base/values/object-schema.ts";

const OUTPUT = objectSchema({
  /**
   * The value as JSON, or the name and message of a fault; then the runtime's notes; then what the program printed. After
   * the first line, every line that does not begin with two spaces is the runtime's own. Safe to show on a terminal.
   */
  text: z.string(),
  /** Whether the program ended without completing. One that waits has not ended. */
  isError: z.boolean(),
  /** What was left out; absent if nothing was. */
  cut: objectSchema({ valueBytes: numberField.optional(), logLines: numberField.optional() }).optional(),
  /** Characters that the runtime's `redact` has taken out; absent if none. */
  redacted: numberField.optional(),
});

/** All that the model gets of an execution. */
export type Output = SchemaType<typeof OUTPUT>;

export const USAGE = objectSchema({
  calls: numberField,
  /** Of these, calls that were answered as an earlier execution was (`corrects`): no handler ran. Absent if none was. */
  reused: numberField.optional(),
  /** UTF-8 bytes of JSON that tools returned. */
  bytesIn: numberField,
  /** UTF-8 bytes of JSON that the program was handed: results, and values that it has loaded. */
  bytesSeen: numberField,
  /** UTF-8 bytes of `output.text`. */
  bytesOut: numberField,
  /** Time waiting for an engine or a container, including the wait for a replacement. */
  queuedMs: numberField,
  /** Time the program ran, without waiting for a core if the system reports that. */
  cpuMs: numberField,
  /** Time the program waited for tools and timers, without `approvalMs`. */
  waitingMs: numberField,
  /** Time the program waited for nothing but people and clients, between two drivers too. It spends no limit. */
  approvalMs: numberField,
  /** Peak memory, without the memory of an idle guest; 0 if it is not measured, as in containers. */
  peakMemoryBytes: numberField,
  turns: numberField,
  /** How often the engine died and was replaced. */
  restarts: numberField,
  /** How often the program gave up its engine or container while it waited: another program needed it, or memory was short. */
  evictions: numberField,
  /**
   * Why the program kept its engine or container while it waited: it had used what a replay cannot reproduce, it held
   * much `memory`, or its `replay` would take too long. Absent if nothing kept it.
   */
  notEvicted: NOT_EVICTED.optional(),
  /** Connections through the sandbox's egress: their number, refused ones included, and their bytes. */
  connections: CONNECTIONS,
});

/** What a program has used, by all its drivers. Times are in milliseconds. */
export type Usage = SchemaType<typeof USAGE>;

export const REPORT_ARTIFACT = objectSchema({
  name: z.string(),
  /** UTF-8 bytes of its JSON. */
  bytes: numberField,
  /** TypeScript type of the value, inferred from its first rows. Untrusted: it has names of fields. */
  shape: z.string(),
});

/** The report of a program as clients get it, without its `execution` and the `value`, which is in the outcome. */
export const REPORT = objectSchema({
  outcome: CLIENT_OUTCOME,
  output: OUTPUT,
  usage: USAGE,
  calls: z.array(CALL_LINE),
  logs: LOGS,
  /** Values that are kept under names; for a program of a conversation, the values of the whole conversation. */
  artifacts: z.array(REPORT_ARTIFACT),
  /** The runtime's notes on the value and the calls. */
  notes: z.array(z.string()),
  /**
   * Why the execution cannot be replayed: what the program had used, a redacted journal, or a stream of which a journal in
   * memory does not keep all items. Absent if it can be replayed.
   */
  unreplayable: UNREPLAYABLE.optional(),
  /** What the guest changed to make the value JSON, in its own words. Untrusted: may be any text. */
  remarks: z.array(z.string()),
});
