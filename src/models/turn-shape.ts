import { z } from "zod";
import { TOKEN_USAGE, type TokenUsage } from "../tools/token-usage.ts";
import { CALLERS } from "../tools/tool.ts";
import { objectSchema } from "../base/values/object-schema.ts";

const text = z.string();
const optionalText = text.optional();
const flag = z.boolean();
const count = z.number().nonnegative();
const usage: z.ZodType<TokenUsage> = TOKEN_USAGE;

/** The schema of one of several forms, which are told apart by their `type`. */
export function formSchema<const Type extends string, Fields extends z.core.$ZodLooseShape>(
  type: Type,
  fields: Fields,
) {
  return objectSchema({ type: z.literal(type), ...fields });
}

export const CONTENT_PART = z.union([
  objectSchema({
    type: z.enum(["image", "file"]),
    /** Like `image/png`. */
    mediaType: text,
    /** Base64. */
    data: text,
    name: optionalText,
  }),
  formSchema("link", {
    url: text,
    mediaType: optionalText,
    name: optionalText,
  }),
]);

export const MESSAGE_PART = z.union([formSchema("text", { text }), CONTENT_PART]);

export const USER_MESSAGE = z.union([text, z.array(MESSAGE_PART)]);

const ANY_CALL = objectSchema({
  /** Unique in the conversation. The provider's id if it is unique and well-formed. */
  id: text,
  /**
   * Why the call is not to be made, as a sentence that becomes its result: the turn allowed no call, or only one, and
   * the model made it nevertheless.
   */
  forbidden: optionalText,
});

export const TOOL_CALL = objectSchema({
  ...ANY_CALL.shape,
  type: z.literal("tool_call"),
  /** Name as defined, or the name that the model wrote if no tool has it. */
  tool: text,
  /** `unknown` if the adapter does not know the kind of caller. */
  caller: z.enum([...CALLERS, "unknown"]),
  /** The text that the model wrote as input; may be invalid JSON. */
  inputText: text,
  /** Id of the hosted program that calls. */
  program: optionalText,
  /** Milliseconds since 1970 after which the provider accepts no result. */
  answerBy: z.number().optional(),
});

export const PROGRAM_CALL = objectSchema({
  ...ANY_CALL.shape,
  type: z.literal("program_call"),
  /** Undefined if the input holds no source. */
  source: optionalText,
});

const MODEL_CALL = z.discriminatedUnion("type", [TOOL_CALL, PROGRAM_CALL]);

/** Ids of the files that it left at the provider, which gives them to whoever has the same key. */
export const FILES = z.array(text).optional();

export const HOSTED_PROGRAM_NEWS = z.discriminatedUnion("type", [
  formSchema("hosted_program_started", { program: text, source: text }),
  formSchema("hosted_program_ended", {
    program: text,
    /** What the program printed; undefined if only the provider can read it. */
    output: optionalText,
    isError: flag,
    files: FILES,
  }),
]);

/** A page or a document that a provider names as the source of something. Data from outside, unchecked. */
export const CITATION = objectSchema({
  /** Of the web, without a user or a password. */
  url: text,
  title: optionalText,
});

/** Calls that a provider made itself: of its search, its files, its code. What they have is data from outside. */
export const HOSTED_CALL_NEWS = z.discriminatedUnion("type", [
  formSchema("hosted_call_started", {
    call: text,
    /** The provider's name of its tool, like `web_search`. */
    tool: text,
    /** The beginning of its input: JSON, or a text. */
    input: text,
  }),
  formSchema("hosted_call_ended", {
    call: text,
    tool: text,
    isError: flag,
    /** The beginning of what it gave, if the provider tells it. */
    output: optionalText,
    sources: z.array(CITATION),
    files: FILES,
  }),
]);

export const TURN_END = z.discriminatedUnion("type", [
  /** The model has finished. */
  formSchema("answered", {}),
  /** The model waits for the results of `calls`, which has at least one. */
  formSchema("called", {}),
  /** The provider expects another request without new input. */
  formSchema("unfinished", {}),
  formSchema("refused", { reason: text }),
  /** A limit of tokens or of the context cut the turn off; its calls may be incomplete. */
  formSchema("cut_off", { reason: text }),
  /** The calls of the turn cannot be read, or are too many to be made. */
  formSchema("invalid", { reason: text }),
]);

/** Who made a turn, as far as it is known: what its provider can be asked about, and the code that read it. */
const TURN_ORIGIN = objectSchema({
  /** The provider's id of the message or response. */
  message: optionalText,
  /** The provider's id of the request that was answered. */
  request: optionalText,
  /** Package and version of the provider's SDK, like `openai@7.55.0`. */
  sdk: optionalText,
  /** Version of this package. */
  portcullis: optionalText,
});

export const MODEL_TURN = formSchema("turn", {
  /** The model's text, without its reasoning. */
  text,
  /** A summary of the model's reasoning, as far as it was shown; missing if none was asked for. */
  reasoning: optionalText,
  calls: z.array(MODEL_CALL),
  /** What the provider ran itself in this turn: hosted programs and calls that started or ended. */
  hosted: z.array(z.union([HOSTED_PROGRAM_NEWS, HOSTED_CALL_NEWS])),
  /** The sources that the text names; missing if it names none. */
  citations: z.array(CITATION).optional(),
  /** Kinds of parts that were not read, as the provider calls them; missing if all were. They go back as they came. */
  unreadParts: z.array(text).optional(),
  end: TURN_END,
  usage,
  /** Missing for a model that is not one of this package's adapters. */
  origin: TURN_ORIGIN.optional(),
});

export const PROVENANCE = objectSchema({
  tool: text,
  /** UTF-8 bytes of the whole result, before anything was cut. */
  bytes: count,
  /** What was left out, as a phrase. */
  cut: optionalText,
  /** The source that the tool comes from; missing for the host's own tools. */
  source: optionalText,
  /** Where the result comes from, as its tool says: an address or a path. */
  from: optionalText,
  /** When the answer was there, in milliseconds since 1970. */
  at: count.optional(),
  /** What a redaction took out, as a phrase. */
  filtered: optionalText,
  /** Who approved the call. */
  approvedBy: optionalText,
  /** One line on how a program ended: outcome, seconds, calls, bytes. */
  summary: optionalText,
});

export const CALL_RESULT = objectSchema({
  callId: text,
  /** The value as JSON, or a sentence. */
  text,
  isJson: flag,
  isError: flag,
  /** Of a search: names of deferred tools that it found. */
  found: z.array(text).optional(),
  /** Images, files and links beside the text, in the order of the handler. */
  parts: z.array(CONTENT_PART).optional(),
  provenance: PROVENANCE,
});

export type ProviderFailureCode =
  /** The key is invalid or lacks a permission. */
  | "key_refused"
  | "rate_limited"
  | "overloaded"
  /** The provider rejects the request: unknown model or feature, or a conversation that is too long. */
  | "request_refused"
  | "server_failed"
  | "timed_out"
  | "unreachable"
  /** The reply broke off. */
  | "interrupted"
  /** The reply breaks the provider's protocol. */
  | "reply_invalid";

export const PROVIDER_FAILURE = objectSchema({
  /** A journal may have the code of a later version, which is only shown. */
  code: text as z.ZodType as z.ZodType<ProviderFailureCode>,
  /** A sentence for the operator: no client sees it. Contains no key. */
  message: text,
  /** HTTP status, if the provider answered. */
  status: z.number().optional(),
  /** The provider's id of the request that failed, if it answered. */
  request: optionalText,
});
