import { PortcullisError } from "../../errors.ts";
import type { Waiting } from "../outcome.ts";
import type { UnansweredCall } from "./execution-state.ts";

/** Sorts waiting calls into approvals and calls of clients. Throws `journal_invalid` for an input that is not JSON. */
export function waitingFor(open: readonly UnansweredCall[], execution = ""): Waiting {
  const inputOf = ({ id, inputText }: UnansweredCall) => parse(inputText, execution, id);
  return {
    type: "waiting",
    approvals: open.flatMap((call) => {
      const { id, tool, decided } = call;
      return decided?.decision === "held"
        ? [
            {
              callId: String(id),
              tool,
              input: inputOf(call),
              inputDigest: decided.inputDigest ?? "",
              since: decided.at,
              why: decided.code === "outcome_unknown" ? ("outcome_unknown" as const) : ("approval" as const),
            },
          ]
        : [];
    }),
    calls: open.flatMap((call) => {
      const { id, tool, decided } = call;
      return decided?.decision === "client"
        ? [{ callId: String(id), tool, input: inputOf(call), since: decided.at }]
        : [];
    }),
  };
}

/** The gate has checked that the input is JSON before it held the call, but a journal may come from elsewhere. */
function parse(text: string, execution: string, id: number | string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new PortcullisError(
      "journal_invalid",
      `Execution ${JSON.stringify(execution)}: the input of call ${id}, which waits, is not JSON. Restore the journal from a backup, or import it again.`,
    );
  }
}
