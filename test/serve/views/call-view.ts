import type { CallView } from "../../../src/serve/views/view.ts";

/** A call of a program, which was given a value. */
export const callView = (id: number, more: Partial<CallView> = {}): CallView => ({
  id: `${id}`,
  tool: "rows",
  caller: "programmatic",
  state: "value",
  at: id,
  ms: 1,
  input: { text: "{}", bytes: 2 },
  bytes: 10,
  started: true,
  ...more,
});
