import type { UnansweredCall } from "../programs/execution-state.ts";
import { isExpired, isWaiting } from "../programs/waiting.ts";
import type { Header } from "../journal/record.ts";
import { TextRoom } from "./text-room.ts";
import type { WaitingView } from "./view.ts";

/** Inputs of calls that wait, all together, in UTF-16 code units: whole ones, unless many large ones wait. */
const INPUTS = 4 * 1024 * 1024;

/** The calls that wait for a person or a client. `above` begins their ids, like `call_2/`. */
export class WaitingViews {
  readonly all: WaitingView[] = [];
  readonly #room = new TextRoom({ each: INPUTS, all: INPUTS });

  take(header: Pick<Header, "limits">, calls: Iterable<UnansweredCall>, above = ""): void {
    for (const call of calls) if (isWaiting(call) && !isExpired(header, call)) this.all.push(this.#view(call, above));
  }

  #view({ id, tool, inputText, decided }: UnansweredCall, above: string): WaitingView {
    const digest = decided?.inputDigest;
    const held = decided?.code === "outcome_unknown" ? "outcome_unknown" : "approval";
    return {
      id: `${above}${id}`,
      tool,
      why: decided?.decision === "client" ? "result" : held,
      input: this.#room.head(inputText),
      ...(digest === undefined ? {} : { inputDigest: digest }),
      since: decided?.at ?? 0,
    };
  }
}
