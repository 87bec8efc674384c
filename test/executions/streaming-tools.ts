import { z } from "zod";
import { defineTool, type Tool, type CallContext } from "../../src/index.ts";
import type { JournalRecord } from "../../src/journal/index.ts";
import type { ExecutionState } from "../../src/executions/from-journal/execution-state.ts";
import { applyRecord, ExecutionState as State } from "../../src/executions/from-journal/execution-state.ts";

/** A call whose handler ran, and what it was told of a stream that was to go on. */
export interface Run {
  readonly callId: string;
  readonly tool: string;
  readonly after?: CallContext["previous"];
}

const input = z.object({ n: z.number() });
const common = { description: "d", inputSchema: input, allowedCallers: ["programmatic"] } as const;
const output = z.object({ i: z.number(), from: z.string() });

export type Row = z.infer<typeof output>;

/** Rows of a tool, each the same whenever it is asked for. */
export function rowsOf(name: string, n: number): readonly Row[] {
  return Array.from({ length: n }, (_, i) => ({ i, from: name }));
}

/**
 * Tools that stream, and one that does not. They note their runs. `again` begins anew after a take-up, the others go on
 * after the last item; `put` changes something, but as often as one likes, `pay` once; `falls` fails after its rows.
 */
export function streamingTools(
  runs: Run[],
  rows: (name: string, n: number) => readonly Row[] = rowsOf,
): readonly Tool[] {
  const noted = (tool: string, { callId, previous: after }: CallContext) =>
    runs.push({ callId, tool, ...(after === undefined ? {} : { after }) });
  const yielding = (name: string) =>
    async function* ({ n }: z.infer<typeof input>, context: CallContext) {
      noted(name, context);
      yield* rows(name, n).slice(context.previous?.items ?? 0);
      if (name === "falls") throw new Error("There are no more.");
    };
  const stream = { ...common, outputSchema: output, stream: true } as const;
  return [
    defineTool({ ...stream, name: "rows", effect: "read", execute: yielding("rows") }),
    defineTool({ ...stream, name: "put", effect: "idempotent", execute: yielding("put") }),
    defineTool({ ...stream, name: "falls", effect: "read", execute: yielding("falls") }),
    defineTool({ ...stream, name: "again", effect: "read", resumes: "from-start", execute: yielding("again") }),
    defineTool({ ...stream, name: "pay", effect: "write", execute: yielding("pay") }),
    defineTool({
      ...stream,
      name: "either",
      effect: ({ n }) => (n > 5 ? "write" : "read"),
      execute: yielding("either"),
    }),
    defineTool({
      ...common,
      name: "one",
      effect: "read",
      execute: ({ n }, context) => {
        noted("one", context);
        return n;
      },
    }),
  ];
}

/** The state after so many records. */
export function stateAfter(records: readonly JournalRecord[], count: number): ExecutionState {
  const state = new State();
  for (const record of records.slice(0, count)) applyRecord(state, record);
  return state;
}

/** The numbers of records after which the journal is at such a point. */
export function cutsWhere(
  records: readonly JournalRecord[],
  isPoint: (state: ExecutionState, last: JournalRecord) => boolean,
): readonly number[] {
  const state = new State();
  return records.flatMap((record, index) => {
    applyRecord(state, record);
    return isPoint(state, record) ? [index + 1] : [];
  });
}

export function handsItems(record: JournalRecord): boolean {
  return record.type === "turn" && record.event.startsWith('{"kind":"items"');
}
