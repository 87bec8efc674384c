import type { Answer } from "../../../src/gate/answer.ts";
import type { Batch, StreamProgress, StreamReader } from "../../../src/gate/streams/stream-reader.ts";
import type { CallContext, Tool } from "../../../src/tools/tool.ts";
import { makeTool, openSession, type SessionParts } from "../open-session.ts";

export type Items = AsyncIterable<unknown> | Iterable<unknown>;

/** A tool called `t` for programs, which answers with the items that its handler gives. */
export function streamTool(
  handler: (input: unknown, context: CallContext) => Items | Promise<Items>,
  { outputSchema, timeoutMs, resumes, concurrency }: Partial<Tool> = {},
): Tool {
  return makeTool({ stream: true, execute: handler, outputSchema, timeoutMs, resumes, concurrency } as never);
}

/** A reader whose program takes nothing. */
export const deaf: StreamReader = { take: () => {}, handed: { items: 0, bytes: 0 } };

/** Of a reader that is handed each batch as it arrives. */
export function handedOf(batches: readonly Batch[]): StreamProgress {
  const sum = (of: (batch: Batch) => number) => batches.reduce((all, batch) => all + of(batch), 0);
  return { items: sum(({ count }) => count), bytes: sum(({ bytes }) => bytes) };
}

/** Reads the stream of one call as a program does, if `reads` says so. */
export function read(tool: Tool, parts: SessionParts & { readonly reads?: (batches: number) => boolean } = {}) {
  const { session, call, records, events } = openSession({ ...parts, tools: [tool] });
  const { reads = () => true } = parts;
  const batches: Batch[] = [];
  const arrivals: (() => void)[] = [];
  const reader = {
    take: (batch: Batch) => {
      batches.push(batch);
      session.noteRead("1", batch.heldBytes);
      session.share.giveBack(batch.heldBytes);
      for (const arrive of arrivals.splice(0)) arrive();
      if (reads(batches.length)) queueMicrotask(() => session.more("1"));
    },
    get handed() {
      return handedOf(batches);
    },
  };
  const answered: Promise<Answer | undefined> = call({}, { reader });
  return {
    session,
    records,
    events,
    batches,
    answered,
    items: () => batches.flatMap(({ body }) => JSON.parse(body) as unknown[]),
    untilBatch: () => new Promise<void>((resolve) => arrivals.push(resolve)),
  };
}
