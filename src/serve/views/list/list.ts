import { z } from "zod";
import { LISTED } from "../../../runtime/executions/index.ts";
import type { SchemaType } from "../../../base/index.ts";
import { objectSchema } from "../../../base/values/object-schema.ts";

const text = z.string();

/** Of an execution that the reader may not read there are only its id, kind, state and times. */
export const LIST_ROW = objectSchema({
  ...LISTED.shape,
  records: LISTED.shape.records.optional(),
  /** What it is called, in one line (`titleOf`). */
  title: text,
  /** Language of a program, name of the model of a conversation, caller of a call. */
  by: text,
  /** The first 100 tools: of a program, those that its source names; of a conversation, its own. */
  tools: z.array(text),
});

/** One execution in a list, with what `runtime.executions.list` does not tell. */
export type ListRow = SchemaType<typeof LIST_ROW>;

export interface ListFilter {
  readonly state?: ListRow["state"] | undefined;
  /** Name of a tool, or a part of one. */
  readonly tool?: string | undefined;
  readonly tenant?: string | undefined;
  /** Part of an id, of a program's source, or of a task or a first message; upper and lower case are the same. */
  readonly text?: string | undefined;
  /** Only executions that started before this time, in milliseconds since 1970. */
  readonly before?: number | undefined;
  /** Maximum of rows; 100 by default. */
  readonly limit?: number | undefined;
}

export interface ListView {
  readonly executions: readonly ListRow[];
  /** The `before` of the next page; missing on the last page. */
  readonly next?: number;
}
