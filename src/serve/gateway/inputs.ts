import { isUsers } from "../../agent/prompt/said-message.ts";
import type { AskedInput } from "../../models/surface/surface.ts";
import type { ClientIds } from "./carried/client-ids.ts";
import type { CallPlace, Replies, Reply } from "./from-journal/replies.ts";

interface Given {
  readonly execution: string;
  readonly replies: Replies;
  readonly reply: number;
}

/** What the request of an answer had that the answer before it had not: outputs of calls, then messages of the user. */
export function inputsOf({ execution, replies, reply }: Given, ids: ClientIds): readonly AskedInput[] {
  const { state, all } = replies;
  const { calls = [], parts = [] } = all[reply - 1] ?? {};
  const texts = new Set(
    parts.flatMap((part) => (part.type === "call" && part.inputText.startsWith('"') ? [keyOf(part.place)] : [])),
  );
  const outputs = calls.flatMap(({ place, answer }): readonly AskedInput[] =>
    answer === undefined
      ? []
      : [{ type: "answer", id: ids.call(execution, place), text: answer, isOfText: texts.has(keyOf(place)) }],
  );
  const turnsIn = (replies: readonly Reply[]) =>
    new Set(replies.flatMap(({ parts }) => parts.map((part) => ("place" in part ? part.place.turn : part.turn))));
  const before = turnsIn(all.slice(0, reply));
  const turns = new Set([...turnsIn(all.slice(reply, reply + 1))].filter((turn) => !before.has(turn)));
  const messages = state.turns.flatMap(({ said }, turn) =>
    turns.has(turn)
      ? said.filter(isUsers).map(({ message }, place): AskedInput => ({
          type: "said",
          id: ids.write("text", { execution, numbers: [turn, place] }),
          message,
        }))
      : [],
  );
  return [...outputs, ...messages];
}

function keyOf({ turn, call, number }: CallPlace): string {
  return `${turn} ${call} ${number ?? ""}`;
}
