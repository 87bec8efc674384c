import { optionError, PortcullisError } from "../../base/index.ts";
import type { CallResult, Model, ModelCall } from "../../models/model.ts";
import {
  type CompactTurn,
  type KeptTurn,
  type TranscriptTurn,
  transcriptTurns,
} from "../from-journal/conversation-state.ts";
import { isSame } from "./said-message.ts";

/** Makes the history of a conversation shorter: leaves out turns, or shortens what was said and answered in them. */
export type Compact = (
  history: readonly TranscriptTurn[],
) => readonly TranscriptTurn[] | Promise<readonly TranscriptTurn[]>;

/** Who makes a history shorter: a function of the developer's, or the model's provider. */
export interface CompactRules {
  readonly compact?: Compact | "provider" | undefined;
  readonly contextTokens?: number | undefined;
}

/** Tokens of a model's context, unless the developer says otherwise. */
export const CONTEXT_TOKENS = 200_000;
/** Share of the context above which a history is made shorter. */
export const COMPACT_SHARE = 0.8;

/**
 * Tokens of context at which the provider itself is to make the history shorter; undefined if it is not asked to. Throws
 * `option_invalid` for a model whose provider does not, or not at so few tokens. `subject` is the function that was called.
 */
export function compactAtOf(
  { name, compactsFrom }: Pick<Model, "name" | "compactsFrom">,
  { compact, contextTokens = CONTEXT_TOKENS }: CompactRules,
  subject: string,
): number | undefined {
  if (compact !== "provider") return undefined;
  const at = Math.floor(contextTokens * COMPACT_SHARE);
  const why =
    compactsFrom === undefined
      ? "does not make a history shorter by itself. Leave it out, or give a function"
      : at < compactsFrom
        ? `begins at ${compactsFrom} tokens or more. Choose contextTokens of at least ${Math.ceil(compactsFrom / COMPACT_SHARE)}`
        : undefined;
  if (why === undefined) return at;
  throw new PortcullisError("option_invalid", `${subject}({ loop: { compact: "provider" } }): ${name} ${why}.`);
}

const WHOLE_TURNS = 2;
/** Results up to this size stay, in bytes: a handle would not be shorter by much. */
const SMALL_BYTES = 600;
/** Length of the beginning of a result that stays, in UTF-16 code units. */
const HEAD_LENGTH = 160;

/**
 * Drops old results, and leaves handles in their place. Results of hosted programs' calls stay: only the program reads them.
 * `onlyReads` tells a call that can be made again without changing anything.
 */
export function dropOldResults(
  history: readonly TranscriptTurn[],
  onlyReads: (call: ModelCall) => boolean,
): readonly TranscriptTurn[] {
  return history.map((one, index) => {
    if (index + WHOLE_TURNS >= history.length) return one;
    const calls = new Map(one.turn.calls.map((call) => [call.id, call]));
    const results = one.results.map((result) => {
      const call = calls.get(result.callId);
      const isDirect = call !== undefined && (call.type === "program_call" || call.caller === "direct");
      return isDirect ? handleOf(result, onlyReads(call)) : result;
    });
    return { ...one, results };
  });
}

function handleOf(result: CallResult, isRepeatable: boolean): CallResult {
  const { text, callId, isError, provenance, parts = [] } = result;
  if (Buffer.byteLength(text) <= SMALL_BYTES && parts.length === 0) return result;
  const head = JSON.stringify(text.slice(0, HEAD_LENGTH).toWellFormed());
  const extras =
    parts.length === 0
      ? ""
      : `, ${parts.length} ${parts.length === 1 ? "image, file or link" : "images, files or links"}`;
  return {
    callId,
    text: `The result was dropped to save room. It had ${Buffer.byteLength(text)} bytes${extras} and began ${head}.${isRepeatable ? " Make the call again if you need the rest." : " The call was made: do not repeat it for its result."}`,
    isJson: false,
    isError,
    provenance: { ...provenance, cut: "dropped to save room" },
  };
}

/** A turn of a shortened history, and what changed in it, which the journal has to be read with from here on. */
export interface ChangedTurn extends Omit<CompactTurn, "turn"> {
  readonly from: KeptTurn;
}

/** A history that was made shorter; undefined if nothing changed. Throws `option_invalid` for a history that cannot be sent. */
export async function compactTurns(
  sent: readonly KeptTurn[],
  compact: Compact,
): Promise<readonly ChangedTurn[] | undefined> {
  const transcript = transcriptTurns(sent);
  const wanted = await compact(transcript);
  // Those that are given: a transcript's turns may lack what is only for the host.
  const places = new Map(transcript.map(({ turn }, place) => [turn, place]));
  let last = -1;
  if (!Array.isArray(wanted)) throw invalid("it is no array");
  const kept = wanted.map((one: TranscriptTurn) => {
    const place = places.get(one?.turn);
    const from = place === undefined ? undefined : sent[place];
    if (place === undefined || from === undefined) throw invalid("a turn of it is none of the history's own");
    if (place <= last) throw invalid("its turns are not in their order");
    last = place;
    return changedTurn(from, one);
  });
  if (kept.length === sent.length && kept.every(({ said, results }) => !said && results.length === 0)) return undefined;
  const { MESSAGE_RESULTS: RESULTS, MESSAGE_LIST: SAID } = await import("../from-journal/parse-message.ts");
  for (const { said, results } of kept)
    if (!SAID.optional().safeParse(said).success || !RESULTS.safeParse(results).success)
      throw invalid("a message or a result of it is not like one of the history");
  return kept;
}

function changedTurn(from: KeptTurn, { said: messages = [], results: newResults }: TranscriptTurn): ChangedTurn {
  const byCall = new Map(newResults.map((result) => [result.callId, result]));
  const results: CallResult[] = [];
  for (const call of from.turn.calls) {
    const result = byCall.get(call.id);
    if (!result || typeof result.text !== "string") throw invalid(`call ${call.id} has no result`);
    if (result === from.results.get(call.id)) continue;
    if (call.type === "tool_call" && call.caller !== "direct")
      throw invalid(`call ${call.id} was made by a program at the provider, whose results cannot be changed`);
    results.push(result);
  }
  if (byCall.size !== from.turn.calls.length) throw invalid("it has results of no call");
  return { from, said: isSame(from.said, messages) ? undefined : messages, results };
}

function invalid(why: string): Error {
  return optionError(
    "compact(history)",
    `turns of the history, in order, with a result for each call; but ${why}`,
    "another",
  );
}
