/** Name of the tool by which a client gets the result of a program that it has not waited for. */
export const RESULT = "result";

export const RESULT_INPUT = {
  type: "object",
  properties: {
    execution: { type: "string", description: "id of the program; without it, open and latest programs are listed" },
    cancel: { type: "boolean", description: "end the program" },
  },
  additionalProperties: false,
} as const;

export const RESULT_DESCRIPTION =
  "Gives the result of a program that run_program has started and not waited for, or that waited for a decision. It waits for a program that still runs.";
