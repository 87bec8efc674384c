import { type Action, actionsAskedFor } from "./actions.ts";
import { formsOf } from "./words.ts";

/** Maximum of words of a query that count. */
const MAX_WORDS = 32;
/** Maximum characters in which a query may tell where a message begins. */
const OPENING_LENGTH = 400;
/** Weight of the words of a message that is to be sent. They say little about the tool. */
const MESSAGE_WEIGHT = 0.3;

export interface QueryWord {
  /** As it was written, in lower case. */
  readonly form: string;
  /** Stemmed. */
  readonly word: string;
  readonly weight: number;
}

export interface Query {
  /** Without words that say nothing, in their order. */
  readonly words: readonly QueryWord[];
  /** What it asks for; empty if it does not tell. */
  readonly asked: ReadonlySet<Action>;
}

export function readQuery(given: string): Query {
  // A tool has neither of these words for what it deletes.
  const text = given.replace(/^\s{0,20}get rid of\b/i, "delete");
  const [begins, ends] = messageIn(text);
  const weighed = (part: string, weight: number) => formsOf(part).map((one) => ({ ...one, weight }));
  const words = [
    ...weighed(text.slice(0, begins), 1),
    ...weighed(text.slice(begins, ends), MESSAGE_WEIGHT),
    ...weighed(text.slice(ends), 1),
  ];
  return { words: words.slice(0, MAX_WORDS), asked: actionsAskedFor(text) };
}

const TELLING = new Set(
  "tell text message say write post email mail send notify announce reply answer sms remind".split(" "),
);

const QUOTES: Readonly<Record<string, string>> = { '"': '"', "“": "”" };

/** Where the message of `tell the team that …`, `post in #general: …` or `remind me to …` begins and ends; none is at the text's end. */
function messageIn(text: string): readonly [begins: number, ends: number] {
  let verb: string | undefined;
  for (const { 0: part, index } of text.slice(0, OPENING_LENGTH).matchAll(/\p{L}{1,32}|[:"“]/gu)) {
    const word = part.toLowerCase();
    verb ??= word;
    if (!TELLING.has(verb)) break;
    const quote = Object.hasOwn(QUOTES, part) ? text.indexOf(QUOTES[part] ?? part, index + 1) : -1;
    if (quote !== -1) return [index, quote];
    const begins = verb === "remind" ? word === "to" : word === "that" || word === "saying" || word === ":";
    if (begins) return [index, text.length];
  }
  return [text.length, text.length];
}
