import { type LinkedResult, type ResourceLink, type Run, textResult } from "../../executions/mcp-runs/index.ts";
import type { Report } from "../../executions/output/index.ts";
import type { LinkedValue } from "../linked-values.ts";
import type { WaitingApproval } from "../../executions/outcome.ts";
import { ANSWERS, type AnswerWords } from "../views/words.ts";

/** Name of the tool by which a client gets the result of a program that it has not waited for. */
export const RESULT_TOOL = "result";

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

/** How a program's result is collected, as a model would write the call. */
function collectWith(execution: string): string {
  return `the tool ${RESULT_TOOL} with ${JSON.stringify({ execution })}`;
}

/** The answer to a request that does not wait any longer for its program. */
export function stillRuns({ id, progress }: Run): LinkedResult {
  return textResult(
    `The program still runs: ${progress.text} Get its result by ${collectWith(id)}, which waits for it; with "cancel": true it ends the program.`,
  );
}

/** The result of a program, with the address of its value if that is too large to be shown. */
export function programResult({ output }: Report, notes: readonly string[], value?: LinkedValue): LinkedResult {
  const text = [output.text, ...notes].join("\n\n");
  return { content: [{ type: "text", text }, ...(value ? [linkTo(value)] : [])], isError: output.isError || undefined };
}

export function linkTo({ uri, name, bytes }: LinkedValue): ResourceLink {
  return {
    type: "resource_link",
    uri,
    name,
    description: `The whole value, ${bytes} bytes of JSON. It can be read for an hour.`,
    mimeType: "application/json",
    size: bytes,
  };
}

/** The command by which a person gives an answer to a call. */
export type DecideCommand = (
  execution: string,
  call: Pick<WaitingApproval, "callId" | "hold">,
  tenant: string,
  answer: AnswerWords["answer"],
) => string;

/** What a waiting program waits for, and the commands that decide it. */
export function waitingNotes(
  { execution, outcome }: Report,
  decideCommand: ((call: WaitingApproval, answer: AnswerWords["answer"]) => string) | undefined,
): readonly string[] {
  if (outcome.type !== "waiting") return [];
  const after = `After that, get the result by ${collectWith(execution)}.`;
  if (!decideCommand) return [after];
  const commands = outcome.approvals.map((call) => {
    const { callId, why } = call;
    if (why === "approval") return `To decide call ${callId}, a person runs: ${decideCommand(call, "allow")}`;
    const answers = ANSWERS[why].map(
      ({ answer, verb, effect }) => `- ${verb} (${effect}): ${decideCommand(call, answer)}`,
    );
    return [`To decide call ${callId}, a person runs one of these:`, ...answers].join("\n");
  });
  return [...commands, after];
}
