import type { Lane, SlicedWork } from "../../base/index.ts";
import type { AgentEvent } from "../../conversations/event.ts";
import type { ReplyPart, ReplyWriter } from "./surface/surface.ts";
import { spokenKey } from "./carried/client-ids.ts";

export interface LiveReplyParts {
  readonly writer: ReplyWriter;
  readonly execution: string;
  /** Turns that the conversation has already. */
  readonly turns: number;
  /** Whose share of the host's thread writing takes. */
  readonly lane: Lane;
  /** Reads what the journal has of the answer so far. It counts as held until it is disposed of. */
  readonly read: () => Promise<Disposable & { readonly parts: readonly ReplyPart[] }>;
  readonly send: (text: string) => void;
}

/**
 * An answer on its way to its client. What it says comes from the journal; only pieces of the model's text are sent before
 * the journal has the turn.
 */
export class LiveReply {
  readonly #parts: LiveReplyParts;
  readonly #sent = new Set<string>();
  /** The text of which pieces were sent. */
  #open: { readonly key: string; text: string } | undefined;
  #turns: number;
  isBegun = false;
  #work: Promise<void> = Promise.resolve();

  constructor(parts: LiveReplyParts) {
    this.#parts = parts;
    this.#turns = parts.turns;
  }

  readonly onEvent = (event: AgentEvent): void => {
    if (event.execution !== this.#parts.execution) return;
    const turn = this.#turns;
    if (event.type === "turn_ended") this.#turns += 1;
    if (event.type === "text" || event.type === "reasoning")
      this.#then(() => this.#piece(spokenKey(event.type, turn), event.text));
    else if (SHOWN.has(event.type)) this.#then(() => this.#catchUp());
  };

  /** Sends all that is left, and `last` after it. */
  async end(last: () => string | SlicedWork<string>): Promise<void> {
    this.#then(() => this.#catchUp());
    this.#then(async () => {
      const text = last();
      const whole = typeof text === "string" ? text : await this.#parts.lane.work(text);
      this.#send(() => whole);
    });
    await this.#work;
  }

  /** Resolves once what has happened so far was sent. */
  async settled(): Promise<void> {
    await this.#work.catch(() => {});
  }

  #then(work: () => Promise<void>): void {
    this.#work = this.#work.then(work);
    this.#work.catch(() => {});
  }

  async #piece(key: string, text: string): Promise<void> {
    if (this.#sent.has(key) || text === "") return;
    if (this.#open?.key !== key) {
      // The writer ends what was open. Reasoning after the text of its turn is told in the next request alone.
      if (this.#open) this.#sent.add(this.#open.key);
      else await this.#catchUp();
      if (this.#sent.has(key)) return;
      this.#open = { key, text: "" };
    }
    this.#open.text += text;
    this.#send(() => this.#parts.writer.piece(text, key));
  }

  async #catchUp(): Promise<void> {
    using read = await this.#parts.read();
    for (const part of read.parts) {
      if (this.#sent.has(part.key)) continue;
      this.#sent.add(part.key);
      const open = this.#open?.key === part.key ? this.#open : undefined;
      if (open) this.#open = undefined;
      if (!open || !("text" in part)) {
        // Each takes as long as its part of a turn of the loop.
        await this.#parts.lane.run(() => this.#send(() => this.#parts.writer.part(part)));
        continue;
      }
      // Where something was taken out of the journal's text, the pieces are what the model said.
      const text = part.text.startsWith(open.text) ? part.text : open.text;
      this.#send(() => this.#parts.writer.part({ ...part, text }, text.slice(open.text.length)));
    }
  }

  /** What begins an answer is written before all else of it. */
  #send(write: () => string): void {
    const begin = this.isBegun ? "" : this.#parts.writer.begin();
    this.isBegun = true;
    this.#parts.send(begin + write());
  }
}

/** Events after which the journal has more of an answer. */
const SHOWN: ReadonlySet<AgentEvent["type"]> = new Set([
  "turn_ended",
  "program_started",
  "program_ended",
  "conversation_waiting",
]);
