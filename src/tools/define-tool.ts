import type { Content } from "./content.ts";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { optionError, PortcullisError } from "../errors.ts";
import {
  asked,
  callback,
  flag,
  object,
  oneOf,
  option,
  type OptionPlace,
  optionsIn,
  type OptionsOf,
  readOptions,
  required,
  type Resolved,
  wholeNumber,
  wholeNumberOrInfinity,
  withDefault,
  words,
} from "../option-rules/options.ts";
import type { JsonSchema } from "./json-schema/json-schema.ts";
import { isLazy, isSchema, type Schema, schemaFault } from "./schema.ts";
import {
  type CallContext,
  type Caller,
  CALLERS,
  type Effect,
  EFFECTS,
  needsApprovalAlways,
  ON_UNKNOWN,
  RESUMES,
  type Tool,
  type ToolAudience,
} from "./tool.ts";
import type { TextFormat } from "./text-format.ts";
import { toolNameFault } from "./tool-name.ts";
import { checkInputFields, jsonSchemaOf } from "./tool-schemas.ts";

type Awaitable<Value> = Value | Promise<Value>;
type Result<Output extends Schema | undefined> = Output extends Schema ? StandardSchemaV1.InferInput<Output> : unknown;

/** As the compiler reads a literal: its lists and fields are readonly. */
type Literal<Value> = unknown extends Value
  ? unknown
  : Value extends object
    ? { readonly [Key in keyof Value]: Literal<Value[Key]> }
    : Value;

/** What a handler gives. The compiler keeps the literals of what a handler returns, not those that a generator yields. */
export type Given<Output extends Schema | undefined, Stream extends boolean> = Stream extends true
  ? Items<Literal<Result<Output>>>
  : Literal<Result<Output>> | Content<Literal<Result<Output>>>;

export const ALLOWED_CALLERS = required(
  option<readonly Caller[]>(
    `a list of ${CALLERS.map((caller) => `"${caller}"`).join(" and ")}, at least one`,
    isCallerList,
  ),
);
/** Bounds of a handler's timeout, in milliseconds. */
export const TIMEOUT_MS = { min: 1, max: 2 ** 31 - 1 } as const;

export const RETRY_RULES = {
  /** Attempts in all, the first one included. */
  attempts: required(wholeNumber({ min: 2, max: 10 })),
  /** Wait before the second attempt, in milliseconds; 200 by default. It doubles before each further attempt. */
  delayMs: wholeNumber({ min: 0, max: 3_600_000, default: 200 }),
  /** Whether a call is made again after this error. By default after every error but a `tool_failed` and a result that is too large. */
  on: callback<(error: unknown) => boolean>(),
};

export const RATE_RULES = {
  /** Calls that may start in `perMs`. */
  calls: required(wholeNumber({ min: 1 })),
  /** The span, in milliseconds. */
  perMs: required(wholeNumber(TIMEOUT_MS)),
};

/** Rules of a tool's options. `TypedOptions` refines the types that depend on the tool's schemas. */
export const TOOL_RULES = {
  /** Programs call the tool as `tools.` and this name: identifiers with dots between, like `billing.listInvoices`. */
  name: required(words("a name")),
  /** For the model: what the tool returns and when to use it. */
  description: required(words("a string that tells the model what the tool does")),
  /** Schema of the input: an object with named fields. */
  input: required(
    option<Schema>(
      "a schema that can give its JSON Schema (zod 4, arktype, or jsonSchema() around a plain one)",
      isSchema,
    ),
  ),
  /** Schema of the result, or of one item of a stream. If the schema's library drops unknown fields, they do not reach the program. */
  output: option<Schema>("a schema that can give its JSON Schema, or nothing", isSchema),
  /**
   * Whether the handler gives items one at a time, as an async generator does: a result of any size. A program reads
   * them with `for await (const item of tools.name({ … }))`. A model that calls the tool directly gets an array.
   */
  stream: flag(),
  /**
   * How a stream goes on whose host died. `"after"` (default): the handler is called with `after`, which has the number
   * of items that are journalled and the last of them, and yields the items that follow. `"from-start"`, or if the handler
   * does not read `after`: it yields all items again, and the stream fails with `stream_changed` if the first are not those
   * that are journalled.
   */
  resumes: oneOf(RESUMES),
  /** Which callers may call the tool. There is no default. */
  allowedCallers: ALLOWED_CALLERS,
  /**
   * What a call changes: nothing (`"read"`), the same when repeated (`"idempotent"`), something each time (`"write"`);
   * or a function of the input. If the function throws, or gives something else, the call counts as a write.
   */
  effect: required(
    asked(
      option<Effect | ((input: unknown) => Effect)>(
        `${EFFECTS.map((one) => `"${one}"`).join(", ")} or a function of the input`,
        (value) => typeof value === "function" || oneOf(EFFECTS).accepts(value),
      ),
    ),
  ),
  /** Whether a call needs approval: `"never"` (default), `"always"`, or by its input. */
  approval: withDefault(
    asked(
      option<"never" | "always" | ((input: unknown) => Awaitable<boolean>)>(
        `"never", "always" or a function of the input`,
        (value) => value === "never" || value === "always" || typeof value === "function",
      ),
    ),
    "never",
  ),
  /**
   * What happens to a field of a call's input, at any depth, that the JSON Schema of `input` does not know. The call is
   * refused (default), or the field is passed on to `input`, which may drop it. An object that the schema declares to
   * be open takes any field.
   */
  unknownFields: withDefault(oneOf(["refuse", "allow"]), "refuse"),
  /**
   * Calls at once over all executions of a runtime; unlimited by default. It counts calls, not handlers: a call counts
   * from when its input is read until it has an answer, also between attempts. A call that was given up, or took too
   * long, counts no longer, even if its handler ignores the signal and still runs. A stream counts until it ends: a program
   * that reads two of one tool side by side needs 2.
   */
  concurrency: wholeNumberOrInfinity({ min: 1, default: Number.POSITIVE_INFINITY }),
  /**
   * Makes a call again if its handler throws: `{ attempts, delayMs, on }`. For calls that read or are idempotent,
   * within `timeoutMs`, under one idempotency key. Each failed attempt is journalled.
   */
  retry: object<OptionsOf<typeof RETRY_RULES>>(),
  /**
   * Calls that may start in a span of time, `{ calls, perMs }`, over all executions of a runtime. Further calls wait,
   * tenants in turn; this wait is no part of `timeoutMs`.
   */
  rate: object<OptionsOf<typeof RATE_RULES>>(),
  /**
   * Whether the tool exists in an execution, a conversation or a call: a function of `{ tenant, model, context }`,
   * asked when each begins or is taken up. If it throws, or gives anything but true, the tool does not exist there.
   */
  enabled: callback<(audience: ToolAudience) => boolean>(),
  /** Timeout of the handler, in milliseconds, all its attempts together; a minute by default. */
  timeoutMs: wholeNumber({ ...TIMEOUT_MS, default: 60_000 }),
  /**
   * Runs a call, or `"client"` for a tool whose calls are answered from outside this process, by `runtime.resume`. Its
   * result must be JSON, or `content()` with more than that; with `stream` an iterable of items. Its errors stay on the host, and the program sees only that the tool failed; a
   * `PortcullisError` with code `tool_failed` passes its message to the program.
   */
  handler: required(
    option<"client" | ((input: unknown, context: CallContext) => unknown)>(
      `a function, or "client"`,
      (value) => value === "client" || typeof value === "function",
    ),
  ),
  /**
   * What becomes of a `write` whose host died while the handler ran: a person is asked (`"ask"`, default), it is run
   * again (`"retry"`), or the program gets `outcome_unknown` (`"fail"`).
   */
  onUnknown: withDefault(oneOf(ON_UNKNOWN), "ask"),
  /**
   * Whether a corrected program (`after`) is given the answers that the program before it was given of equal calls; true by
   * default. False: the handler runs for each call, also for one that changes something and was done before.
   */
  reusable: flag(),
  /** Words by which the tool is searched for, beside its name and description. */
  tags: option<readonly string[]>("an array of non-blank strings", isWordList),
  /** How and when to use the tool, for the system text of a conversation that has it: more than its description can say. */
  instructions: words(),
  /** Whether models are told of the tool even if the tools are too many to be listed; false by default. */
  pinned: flag(),
  /**
   * Whether a model that may call the tool directly is told of it only when it has searched for it. By default if the
   * direct tools of a conversation are many and the tool is not pinned.
   */
  defer: flag(),
  /** Where results of the tool come from, for the model and the transcript: the name of a source. Missing for the host's own tools. */
  source: words("the name of a source"),
};

/** Types of the options that depend on the schemas of one tool, and on what its host passes with an execution. */
interface TypedOptions<
  Input extends Schema,
  Output extends Schema | undefined,
  Context,
  Stream extends boolean,
  Answer,
> {
  readonly input: Input;
  readonly output: Output;
  readonly effect: Effect | ((input: StandardSchemaV1.InferOutput<Input>) => Effect);
  readonly enabled: (audience: ToolAudience<Context>) => boolean;
  readonly approval: "never" | "always" | ((input: StandardSchemaV1.InferOutput<Input>) => Awaitable<boolean>);
  readonly handler:
    | (Stream extends true ? never : "client")
    | ((input: StandardSchemaV1.InferOutput<Input>, context: CallContext<Context>) => Awaitable<Answer>);
  readonly stream: Stream;
}

/** A generator that returns something has nothing to give it to. */
type Items<Item> = AsyncIterable<Item, void | null> | Iterable<Item, void | null>;

/** Mapped from the rules, whose JSDoc it keeps. */
export type ToolOptions<
  Input extends Schema,
  Output extends Schema | undefined = undefined,
  Context = unknown,
  Stream extends boolean = false,
  Answer = Given<Output, Stream>,
> = {
  [Name in keyof OptionsOf<typeof TOOL_RULES>]: Name extends keyof TypedOptions<Input, Output, Context, Stream, Answer>
    ? TypedOptions<Input, Output, Context, Stream, Answer>[Name]
    : OptionsOf<typeof TOOL_RULES>[Name];
};

/**
 * Defines a tool and checks its whole definition. Throws a `PortcullisError` (`tool_invalid`) that names the tool, the
 * option, the expected value and the given one. A handler that annotates its second argument as `CallContext<App>` makes
 * a `Tool<App>`, for a runtime whose executions have a `context` of that type.
 */
export function defineTool<
  Input extends Schema,
  Output extends Schema | undefined = undefined,
  Context = unknown,
  const Stream extends boolean = false,
  const Answer extends Given<Output, Stream> = Given<Output, Stream>,
>(options: ToolOptions<Input, Output, Context, Stream, Answer>): Tool<Context> {
  return makeTool<Context>(options);
}

/** What a maker of tools adds: its own name, for errors, and what only its tools have. */
interface Made {
  readonly maker: string;
  readonly textFormat: TextFormat;
}

/** The tool of checked options. A tool with a `textFormat` takes one text in place of named fields. */
export function makeTool<Context>(options: unknown, made?: Made): Tool<Context> {
  const { effect, approval, allowedCallers, tags, output, stream, ...read } = readToolOptions(options, made?.maker);
  const { name, input } = read;
  const fault = toolNameFault(name);
  if (fault !== undefined)
    throw new PortcullisError("tool_invalid", `Tool ${JSON.stringify(name)}: this name cannot be used: ${fault}.`);
  if (!made && !isLazy(input)) refuseUnnamedFields(name, jsonSchemaOf(name, "input", input));
  if (output !== undefined && !isLazy(output)) jsonSchemaOf(name, "output", output);
  const tool = Object.freeze<Tool<Context>>({
    ...read,
    output,
    ...(stream ? { stream } : {}),
    allowedCallers: Object.freeze([...allowedCallers]),
    effect: typeof effect === "function" ? "write" : effect,
    ...(typeof effect === "function" ? { effectOf: effect } : {}),
    approvable: approval !== "never",
    needsApproval:
      typeof approval === "function" ? approval : approval === "always" ? needsApprovalAlways : () => false,
    ...(tags === undefined ? {} : { tags: [...tags] }),
    ...(made && { textFormat: made.textFormat }),
  });
  checkInputFields(tool);
  return tool;
}

/** The same tool, whose calls run elsewhere. */
export function runsAt<Context>(place: string, tool: Tool<Context>): Tool<Context> {
  return Object.freeze({ ...tool, place });
}

/** Throws a `PortcullisError` (`tool_invalid`) for a schema whose values are no objects. A lazy schema is not asked. */
export function refuseUnnamedFields(name: string, schema: JsonSchema): void {
  if (schema.type === "object") return;
  const expected = `a schema whose JSON Schema has type "object", because tools take named fields`;
  const got = schema.type ?? Object.keys(schema).find((key) => key === "anyOf" || key === "oneOf");
  const advice = schema.type === undefined && got !== undefined ? " (put a union into a field of an object)" : "";
  throw invalid(optionError(placeOf(name).at("input"), expected + advice, got));
}

function readToolOptions(options: unknown, maker?: string) {
  const name = typeof options === "object" && options !== null && "name" in options ? options.name : undefined;
  const place = placeOf(name, maker);
  try {
    refuseForeignWords(place, options);
    refuseSchemas(place, options);
    const read = readOptions(place, options, TOOL_RULES);
    const { retry, rate, ...others } = read;
    const repeated = retry && { retry: readOptions(optionsIn(place, "retry"), retry, RETRY_RULES) };
    const bounded = rate && { rate: readOptions(optionsIn(place, "rate"), rate, RATE_RULES) };
    refuseRepetition(place, read);
    refuseStream(place, read);
    return { ...others, ...repeated, ...bounded };
  } catch (error) {
    throw invalid(error);
  }
}

/** Refuses to repeat calls that change something each time, and calls that a client answers. */
function refuseRepetition({ at }: OptionPlace, { effect, handler, retry, rate }: Resolved<typeof TOOL_RULES>): void {
  if (retry && effect === "write")
    throw new PortcullisError(
      "tool_invalid",
      `${at("retry")}: calls with the effect "write" are never repeated. Leave retry out, or declare the effect "idempotent" if a repetition changes nothing more.`,
    );
  const option = retry ? "retry" : rate && "rate";
  if (handler === "client" && option)
    throw new PortcullisError(
      "tool_invalid",
      `${at(option)}: calls that a client answers have no handler here. Leave it out.`,
    );
}

/** Refuses what a stream cannot be combined with, and what only a stream can have. */
function refuseStream({ at }: OptionPlace, { stream, resumes, retry, handler }: Resolved<typeof TOOL_RULES>): void {
  const refuse = (option: string, why: string) => {
    throw new PortcullisError("tool_invalid", `${at(option)}: ${why}`);
  };
  if (!stream && resumes !== undefined)
    refuse("resumes", "only a stream goes on where it was left. Set `stream: true`, or leave it out.");
  if (stream && retry)
    refuse("retry", "a stream is not begun again after an error. Leave retry out, and repeat requests in the handler.");
  if (!stream && isAsyncGenerator(handler))
    refuse("handler", "an async generator yields items one at a time. Set `stream: true`, or return one result.");
  if (stream && handler === "client")
    refuse("stream", "calls that a client answers have no handler here that could yield items. Leave it out.");
}

function isAsyncGenerator(handler: unknown): boolean {
  return Object.prototype.toString.call(handler) === "[object AsyncGeneratorFunction]";
}

/** What other libraries call the options of a tool. */
const FOREIGN_WORDS: Readonly<Record<string, keyof typeof TOOL_RULES>> = {
  execute: "handler",
  run: "handler",
  func: "handler",
  parameters: "input",
  inputSchema: "input",
  outputSchema: "output",
  needsApproval: "approval",
};

/** Refuses options that are written as in other libraries, and says at once how each is written here. */
function refuseForeignWords(place: OptionPlace, options: unknown): void {
  if (typeof options !== "object" || options === null) return;
  const given = options as Readonly<Record<string, unknown>>;
  const faults = [
    ...Object.entries(FOREIGN_WORDS).flatMap(([word, own]) =>
      Object.hasOwn(given, word) && given[own] === undefined ? [`\`${word}\` is called \`${own}\` here`] : [],
    ),
    ...(["input", "output"] as const).flatMap((side) =>
      isShape(given[side])
        ? [`\`${side}\` is an object of schemas, not a schema: write ${side}: z.object({ … }) around it`]
        : [],
    ),
    ...(typeof given.approval === "boolean" ? [`write approval: "${given.approval ? "always" : "never"}"`] : []),
  ];
  if (faults.length > 0) throw new PortcullisError("tool_invalid", `${place.subject}: ${faults.join("; ")}.`);
}

/** Whether a value is the raw shape of an object: schemas by the names of fields. */
function isShape(value: unknown): boolean {
  if (typeof value !== "object" || value === null || isSchema(value) || "~standard" in value) return false;
  const fields = Object.values(value);
  return fields.length > 0 && fields.every((field) => isSchema(field));
}

/** Refuses what is nearly a schema, and says what it lacks. The rules of the options refuse the rest. */
function refuseSchemas({ at }: OptionPlace, options: unknown): void {
  if (typeof options !== "object" || options === null) return;
  for (const side of ["input", "output"] as const) {
    const fault = schemaFault((options as Readonly<Record<string, unknown>>)[side]);
    if (fault !== undefined) throw new PortcullisError("tool_invalid", `${at(side)}: ${fault}`);
  }
}

/** Names the tool in errors: `defineTool({ name: "crm.find", effect })`. */
export function placeOf(name: unknown, maker = "defineTool"): OptionPlace {
  const named = typeof name === "string" && name.length <= 128 ? `name: ${JSON.stringify(name)}, ` : "";
  return {
    object: `${maker}(options)`,
    subject: named === "" ? maker : `${maker}({ ${named}… })`,
    at: (option) => `${maker}({ ${option === "name" ? "" : named}${option} })`,
  };
}

export function invalid(error: unknown): PortcullisError {
  return new PortcullisError("tool_invalid", error instanceof Error ? error.message : String(error));
}

function isWordList(value: unknown): boolean {
  return Array.isArray(value) && value.every((word) => typeof word === "string" && word.trim() !== "");
}

function isCallerList(value: unknown): value is readonly Caller[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    new Set(value).size === value.length &&
    value.every((caller) => CALLERS.includes(caller as Caller))
  );
}
