import type { JsonSchema } from "../json-schema/json-schema.ts";

/** What results of a tool were like, of a stream its items. */
export interface ObservedOutput {
  readonly schema: JsonSchema;
  /** Number of results. */
  readonly results: number;
}
