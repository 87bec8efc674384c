import { passOn } from "../../../base/index.ts";
import { type AskedAnswer, type IdPrefixes, RefusedAsk, type ReplyPart, type SpokenPart } from "../surface/surface.ts";
import type { Key } from "../../http/keys.ts";
import type { ClientTools } from "../client-tools.ts";
import type { CallPlace, ToldPart } from "../from-journal/replies.ts";
import { executionNamed, markOf, openSeal, seal, type SealedIds, type SealKind, type Secrets } from "./seals.ts";

/** The ids of one client's conversations, as its surface writes them. */
export class ClientIds {
  readonly #secrets: Secrets;
  readonly #key: Pick<Key, "id" | "tenant">;
  readonly #prefixes: IdPrefixes;
  /** The secret that has sealed what the client sent: what it was given under a former one keeps its ids. */
  #by: Secrets[0];

  constructor(secrets: Secrets, key: Pick<Key, "id" | "tenant">, prefixes: IdPrefixes) {
    this.#secrets = secrets;
    this.#key = key;
    this.#prefixes = prefixes;
    [this.#by] = secrets;
  }

  write(kind: SealKind, sealed: SealedIds): string {
    return this.#prefixes[kind] + seal(this.#by, this.#key, kind, sealed);
  }

  /** Undefined for an id that was not given to this client. */
  read(kind: SealKind, id: string): SealedIds | undefined {
    const prefix = this.#prefixes[kind];
    const opened = id.startsWith(prefix)
      ? openSeal(this.#secrets, this.#key, kind, id.slice(prefix.length))
      : undefined;
    if (opened) this.#by = opened.by;
    return opened?.sealed;
  }

  /** The conversation that an item's id names, whatever it begins with. Its own items have other ids if the id is forged. */
  executionOf(item: string): string | undefined {
    return executionNamed(item.slice(item.indexOf("_") + 1));
  }

  call(execution: string, { turn, call, number }: CallPlace): string {
    const numbers = number === undefined ? [turn, call] : [turn, call, number];
    return this.write("call", { execution, numbers });
  }

  program(execution: string, { turn, call }: CallPlace): string {
    return this.write("program", { execution, numbers: [turn, call] });
  }

  /** A text or a summary of reasoning by its key, without its words. */
  spoken(execution: string, key: string): SpokenPart {
    const [type, turn] = key.split(" ") as [SpokenPart["type"], string];
    return { type, key, id: this.write(type, { execution, numbers: [Number(turn)] }), text: "" };
  }

  state(execution: string): string {
    return this.write("state", { execution, numbers: [] });
  }

  /** By it an answer is known again, also if the journal has redacted it. */
  mark(execution: string, { text, isError }: Pick<AskedAnswer, "text" | "isError">): number {
    return markOf(this.#by, this.#key, `${execution} ${isError} ${passOn(text)}`);
  }

  /** A part as the client sees it. Throws `RefusedAsk` for a call whose input nothing here has. */
  part(execution: string, told: ToldPart, tools: ClientTools): ReplyPart {
    if (!("place" in told)) return { ...this.spoken(execution, spokenKey(told.type, told.turn)), text: told.text };
    const { place, ...about } = told;
    const key = `${told.type} ${place.turn} ${place.call} ${place.number}`;
    if (about.type !== "call") {
      const id = this.program(execution, place);
      return about.type === "program" ? { ...about, key, id, state: this.state(execution) } : { ...about, key, id };
    }
    const { type, tool, inputText = refuseRedacted() } = about;
    const { name = tool, namespace } = tools.given(tool) ?? {};
    const program = place.number === undefined ? undefined : this.program(execution, place);
    return { type, key, id: this.call(execution, place), tool: name, namespace, inputText, program };
  }
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
