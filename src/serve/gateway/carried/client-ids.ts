import { passOn } from "../../../base/index.ts";
import { type AskedAnswer, type IdPrefixes, RefusedAsk, type AnswerPart, type SpokenPart } from "../surface/surface.ts";
import type { Key } from "../../http/keys.ts";
import type { ClientTools } from "../client-tools.ts";
import type { CallPlace, JournalPart } from "../from-journal/replies.ts";
import { executionNamed, markOf, openSeal, seal, type SealedIds, type SealKind, type Secrets } from "./seals.ts";

export type ClientIds = ReturnType<typeof clientIds>;

/** The ids of one client's conversations, as its surface writes them. */
export function clientIds(secrets: Secrets, key: Pick<Key, "id" | "tenant">, prefixes: IdPrefixes) {
  /** The secret that has sealed what the client sent: what it was given under a former one keeps its ids. */
  let [by] = secrets;
  const write = (kind: SealKind, execution: string, ...numbers: readonly number[]) =>
    prefixes[kind] + seal(by, key, kind, { execution, numbers });
  const program = (execution: string, { turn, call }: CallPlace) => write("program", execution, turn, call);
  const call = (execution: string, { turn, call: nth, number }: CallPlace) =>
    write("call", execution, turn, nth, ...(number === undefined ? [] : [number]));
  const state = (execution: string) => write("state", execution);
  /** A text or a summary of reasoning by its key, without its words. */
  const spoken = (execution: string, key: string): SpokenPart => {
    const [type, turn] = key.split(" ") as [SpokenPart["type"], string];
    return { type, key, id: write(type, execution, Number(turn)), text: "" };
  };
  return {
    write,
    call,
    state,
    spoken,
    /** Undefined for an id that was not given to this client. */
    read(kind: SealKind, id: string): SealedIds | undefined {
      const prefix = prefixes[kind];
      const opened = id.startsWith(prefix) ? openSeal(secrets, key, kind, id.slice(prefix.length)) : undefined;
      if (opened) ({ by } = opened);
      return opened?.sealed;
    },
    /** By it an answer is known again, also if the journal has redacted it. */
    mark: (execution: string, { text, isError }: Pick<AskedAnswer, "text" | "isError">) =>
      markOf(by, key, `${execution} ${isError} ${passOn(text)}`),
    /** A part as the client sees it; without its tools, with their names in the conversation. Throws `RefusedAsk` for a call whose input nothing here has. */
    part(execution: string, part: JournalPart, tools?: ClientTools): AnswerPart {
      if (!("place" in part)) return { ...spoken(execution, spokenKey(part.type, part.turn)), text: part.text };
      const { place, ...about } = part;
      const key = `${part.type} ${place.turn} ${place.call} ${place.number}`;
      if (about.type !== "call") {
        const id = program(execution, place);
        return about.type === "program" ? { ...about, key, id, state: state(execution) } : { ...about, key, id };
      }
      const { type, tool, inputText = refuseRedacted() } = about;
      const { name = tool, namespace } = tools?.clientTool(tool) ?? {};
      const above = place.number === undefined ? undefined : program(execution, place);
      return { type, key, id: call(execution, place), tool: name, namespace, inputText, program: above };
    },
  };
}

/** The conversation that an item's id names, whatever it begins with. Its own items have other ids if the id is forged. */
export function executionOf(item: string): string | undefined {
  return executionNamed(item.slice(item.indexOf("_") + 1));
}

function refuseRedacted(): never {
  throw new RefusedAsk({
    kind: "invalid",
    message:
      "The input of a call of this answer was redacted, and only the server that runs its program has it. Answer the call, or begin again from before the program.",
  });
}

/** Tells the text or the reasoning of a turn apart from all other parts of its conversation. */
export function spokenKey(type: SpokenPart["type"], turn: number): string {
  return `${type} ${turn}`;
}
