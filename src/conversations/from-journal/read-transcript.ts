import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { optionError, PortcullisError, type SlicedWork } from "../../base/index.ts";
import type { ModelTurn } from "../../models/model.ts";
import type { KeptTurn } from "./conversation-state.ts";
import { RESULTS, SAID, TURN } from "./parse-message.ts";
import type { History } from "./restore-conversation.ts";
import type { Transcript } from "./transcript.ts";

const text = z.string();
const FORM = z.object({
  format: z.literal(1),
  task: text,
  model: text,
  turns: z.array(z.unknown()),
  said: SAID.default([]),
  ending: z.looseObject({ type: text }),
});
const TURN_FORM = z.object({ said: SAID.default([]), turn: TURN, model: text.optional(), results: RESULTS });

/**
 * Reads a saved conversation, which may come from an untrusted file, in slices: each of its calls has one result, unless the
 * conversation waits. Throws `option_invalid` for a value that is no transcript, and for turns that no conversation can have had.
 * `subject` is where it was given, for the error.
 */
export function* readTranscript(transcript: Transcript, subject: string): SlicedWork<Omit<History, "isOpen">> {
  const form = FORM.safeParse(transcript);
  if (!form.success) throw optionError(subject, "a transcript, as runtime.agent gives it", transcript);
  const { task, model, turns: given, said, ending } = form.data;
  const turns: KeptTurn[] = [];
  const seen = new Set<string>();
  for (const [place, one] of given.entries()) {
    const refused = (why: string) =>
      new PortcullisError("option_invalid", `${subject}: turn ${place + 1} of the transcript ${why}.`);
    const { success, data } = TURN_FORM.safeParse(one);
    if (!success) throw refused("is not as runtime.agent gives it");
    const before = turns.at(-1);
    if (before && data.said.length === 0 && !goesOn(before.turn))
      throw refused("follows one that ended the conversation");
    const results = new Map(data.results.map((result) => [result.callId, result]));
    const mayLack = ending.type === "waiting" && place + 1 === given.length;
    const asked = data.turn.calls.map(({ id }) => id).filter((id) => !mayLack || results.has(id));
    if (!isDeepStrictEqual(asked, [...results.keys()])) throw refused("has not one result for each of its calls");
    for (const { id } of data.turn.calls) {
      if (seen.has(id)) throw refused(`has the call ${id}, which was made before`);
      seen.add(id);
    }
    turns.push({ said: data.said, turn: data.turn, opaque: undefined, model: data.model ?? model, results });
    yield;
  }
  return { task, turns, said };
}

function goesOn({ end }: ModelTurn): boolean {
  return end.type === "called" || end.type === "unfinished";
}
