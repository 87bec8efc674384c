import { isFields, isTexts, PortcullisError, sizeFault, weigh, without, ignore } from "../../base/index.ts";
import { storedSchema, validate } from "../../tools/schema.ts";
import type { AllowedQuestion } from "../../tools/tool.ts";
import { MalformedMessage, type Message } from "./wire/wire.ts";

/** What a server asks in the midst of a call; an approver sees it as the input of the call. */
export interface Question {
  readonly elicitation: {
    readonly message: string;
    /** Names of the fields that may be filled. */
    readonly fields: readonly string[];
    /** The JSON Schema of the fields, if there are any. */
    readonly schema?: Message;
  };
}

export type Ask = (question: Question) => Promise<AllowedQuestion | false>;

export type ElicitationReply =
  | { readonly action: "accept"; readonly content: Record<string, string | number | boolean | string[]> }
  | { readonly action: "decline" | "cancel" };

/** Characters of a question that an approver is shown, names of its fields, and their length. */
const MESSAGE_LENGTH = 4096;
const FIELDS = 100;
const FIELD_LENGTH = 256;
/** Questions that a server may put in place of a result, and that an approver is asked in a call: further ones are declined. */
const QUESTIONS = 16;
const SCHEMA_BOUNDS = { depth: 8, values: 2000 };
const SCHEMA_BYTES = 64 * 1024;

/**
 * Has an approver decide the questions that a server put in place of a result. Returns what the repeated call sends. A
 * question is accepted with the approver's fields if they fit its schema, and else cancelled. Rejects if the server asks
 * for anything else: it was told that it cannot.
 */
export async function readAnswers({ inputRequests = {}, requestState }: Message, ask: Ask): Promise<Message> {
  const entries = isFields(inputRequests) ? Object.entries(inputRequests) : [];
  if (entries.length > QUESTIONS) throw new MalformedMessage(`The server asked ${entries.length} questions at once.`);
  const answers: [string, unknown][] = [];
  for (const [key, request] of entries) {
    if (!isFields(request) || request.method !== "elicitation/create" || !isFields(request.params))
      throw new MalformedMessage("The server asked for something that this client does not offer.");
    answers.push([key, await answerOf(request.params, ask)]);
  }
  if (answers.length === 0 && typeof requestState !== "string")
    throw new MalformedMessage("The server asked for input without a question.");
  return {
    inputResponses: answers.length === 0 ? undefined : Object.fromEntries(answers),
    requestState: typeof requestState === "string" ? requestState : undefined,
  };
}

export async function answerOf(params: Message, ask: Ask): Promise<ElicitationReply> {
  const { mode = "form", message, requestedSchema = {} } = params;
  const isShown =
    sizeFault(requestedSchema, SCHEMA_BOUNDS) === undefined && weigh(requestedSchema, SCHEMA_BYTES) <= SCHEMA_BYTES;
  if (mode !== "form" || typeof message !== "string" || !isFields(requestedSchema) || !isShown)
    return { action: "cancel" };
  const { properties } = requestedSchema;
  const names = isFields(properties) ? Object.keys(properties) : [];
  const allowed = await ask({
    elicitation: {
      message: message.slice(0, MESSAGE_LENGTH),
      fields: names.slice(0, FIELDS).map((field) => field.slice(0, FIELD_LENGTH)),
      schema: names.length > 0 ? requestedSchema : undefined,
    },
  });
  if (allowed === false) return { action: "decline" };
  const content = await contentOf(allowed.fields, requestedSchema, names);
  return content ? { action: "accept", content } : { action: "cancel" };
}

async function contentOf(fields: AllowedQuestion["fields"], schema: Message, names: readonly string[]) {
  const entries = Object.entries(fields);
  if (!entries.every(([name, value]) => names.includes(name) && isAnswer(value))) return undefined;
  const content = Object.fromEntries(entries) as Record<string, string | number | boolean | string[]>;
  try {
    return (await validate(storedSchema(without(schema, "$schema")), content)).ok ? content : undefined;
  } catch (error) {
    // A schema that cannot be checked at a bounded cost.
    if (PortcullisError.is(error)) return undefined;
    throw error;
  }
}

function isAnswer(value: unknown): boolean {
  return isTexts(value) || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}

/** Requests of a call: the first request, and the requests that answer questions of the server. */
const ROUNDS = 10;

export interface Dialogue {
  /** Whether the server has asked for anything: such a call is not repeated, because it would ask again. */
  readonly hasBegun: () => boolean;
  /** Aborted when the call is ended, with the error that the program gets. */
  readonly ended: AbortSignal;
  /** Counts a request for more input in place of a result. Throws if the call ends. */
  readonly countRound: () => void;
  /** Has a question decided, after the earlier questions. */
  readonly ask: Ask;
}

/**
 * What a server asks in the midst of a call, over all requests of the call. Questions are asked one after the other. Once
 * an approver has declined a question, the approver is asked no other, and a further question ends the call: `declined` makes
 * its error.
 */
export function dialogueWith(ask: Ask, declined: () => PortcullisError): Dialogue {
  const ended = new AbortController();
  let rounds = 1;
  let questions = 0;
  let isDeclined = false;
  let last: Promise<unknown> = Promise.resolve();
  const refuseAfterDecline = () => {
    if (!isDeclined) return;
    const error = declined();
    ended.abort(error);
    throw error;
  };
  return {
    hasBegun: () => rounds > 1 || questions > 0,
    ended: ended.signal,
    countRound(): void {
      refuseAfterDecline();
      if (rounds === ROUNDS) throw new MalformedMessage(`The server asked for more input ${ROUNDS} times.`);
      rounds += 1;
    },
    ask: async (question: Question): Promise<AllowedQuestion | false> => {
      refuseAfterDecline();
      questions += 1;
      if (questions > QUESTIONS) return false;
      const decision = last.then(() => (isDeclined ? false : ask(question)));
      last = decision.catch(ignore);
      const allowed = await decision;
      if (allowed === false) isDeclined = true;
      return allowed;
    },
  };
}
