import { type Lane, type SlicedWork, ignore } from "../../base/index.ts";
import type { AgentEvent } from "../../conversations/event.ts";
import { isSpoken, type AnswerPart, type ReplyWriter, type SpokenPart } from "./surface/surface.ts";
import { spokenKey } from "./carried/client-ids.ts";

export interface LiveReplyParts {
  readonly writer: ReplyWriter;
  readonly execution: string;
  /** Turns that the conversation has already. */
  readonly turns: number;
  /** Whose share of the host's thread writing takes. */
  readonly lane: Lane;
  /** Reads what the journal has of the answer so far. It counts as held until it is disposed of. */
  readonly read: () => Promise<Disposable & { readonly parts: readonly AnswerPart[] }>;
  /** A text or a summary of reasoning by its key, without its words. */
  readonly partOf: (key: string) => SpokenPart;
  readonly send: (text: string) => void;
}

/**
 * An answer on its way to its client. What it says comes from the journal; only pieces of the model's text are sent before
 * the journal has the turn.
 */
export function liveReply({ writer, execution, turns: before, lane, read, partOf, send }: LiveReplyParts) {
  const pieces = piecesOf(writer, send);
  const { sent, put } = pieces;
  let turns = before;
  let work: Promise<void> = Promise.resolve();
  const then = (step: () => void | Promise<void>) => {
    work = work.then(step);
    work.catch(ignore);
  };
  const catchUp = async () => {
    using answer = await read();
    const begun = answer.parts.filter(({ key }) => key === pieces.open()?.key);
    for (const part of [...begun, ...answer.parts]) {
      if (sent.has(part.key)) continue;
      sent.add(part.key);
      // Each takes as long as its part of a turn of the loop.
      await lane.run(() => pieces.whole(part));
    }
  };
  const piece = async (key: string, text: string) => {
    const open = pieces.open();
    // Reasoning after the text of its turn waits for the journal: the text that follows belongs to the one that is open.
    const isLate = open?.type === "text" && open.key !== key;
    if (sent.has(key) || text === "" || isLate) return;
    if (!open) await catchUp();
    if (!sent.has(key)) pieces.say(partOf(key), text);
  };
  return {
    onEvent: (event: AgentEvent): void => {
      if (event.execution !== execution) return;
      if (event.type === "text" || event.type === "reasoning") {
        const key = spokenKey(event.type, turns);
        then(() => piece(key, event.text));
      }
      if (event.type === "turn_ended") turns += 1;
      if (SHOWN.has(event.type)) then(catchUp);
    },
    /** Sends all that is left, and `last` after it. */
    async end(last: () => SlicedWork<string>): Promise<void> {
      then(catchUp);
      then(async () => {
        put(pieces.close);
        send(await lane.work(last()));
      });
      await work;
    },
    /** Resolves once what has happened so far was sent, with whether that is anything. */
    settled: () => work.then(pieces.isBegun, pieces.isBegun),
  };
}

/** The parts of an answer as they are written, of which that which is spoken may come in pieces. */
function piecesOf(writer: ReplyWriter, send: (text: string) => void) {
  const sent = new Set<string>();
  /** What is sent in pieces, with its words so far. */
  let open: SpokenPart | undefined;
  let isBegun = false;
  /** What begins an answer is written before all else of it. */
  const put = (write: () => string) => {
    const begin = isBegun ? "" : writer.begin();
    isBegun = true;
    send(begin + write());
  };
  const close = () => {
    const part = open;
    open = undefined;
    if (!part) return "";
    sent.add(part.key);
    return writer.close(part);
  };
  const say = (part: SpokenPart, text: string) => {
    if (open?.key !== part.key) put(() => close() + writer.open((open = part)));
    const whole = (open = { ...part, text: (open?.text ?? "") + text });
    put(() => writer.delta(whole, text));
  };
  return {
    /** Keys of the parts that were sent. */
    sent,
    put,
    close,
    say,
    open: () => open,
    isBegun: () => isBegun,
    whole(part: AnswerPart): void {
      if (!isSpoken(part)) return put(() => close() + writer.whole(part));
      const prefix = open?.key === part.key ? open.text : "";
      // Where something was taken out of the journal's text, the pieces are what the model said.
      const rest = part.text.startsWith(prefix) ? part.text.slice(prefix.length) : "";
      if (rest !== "") say({ ...part, text: "" }, rest);
      put(close);
    },
  };
}

/** Events after which the journal has more of an answer. */
const SHOWN: ReadonlySet<AgentEvent["type"]> = new Set([
  "turn_ended",
  "program_started",
  "program_ended",
  "conversation_waiting",
]);
