import type { Content } from "./content.ts";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  type Fields,
  isFields,
  optionError,
  type OptionPlace,
  optionsIn,
  type OptionsOf,
  PortcullisError,
  readOptions,
  type CheckedOptions,
  thrownMessage,
} from "../base/index.ts";
import type { JsonSchema } from "./json-schema/json-schema.ts";
import { isLazy, type Schema, schemaFault } from "./schema.ts";
import {
  type CallContext,
  type Effect,
  needsApprovalAlways,
  RATE_RULES,
  RETRY_RULES,
  type Tool,
  TOOL_RULES,
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
export type HandlerReturn<Output extends Schema | undefined, Stream extends boolean> = Stream extends true
  ? Items<Literal<Result<Output>>>
  : Literal<Result<Output>> | Content<Literal<Result<Output>>>;

/** Types of the options that depend on the schemas of one tool, and on what its host passes with an execution. */
interface TypedOptions<
  Input extends Schema,
  Output extends Schema | undefined,
  Context,
  Stream extends boolean,
  Answer,
> {
  readonly inputSchema: Input;
  readonly outputSchema: Output;
  readonly effect: Effect | ((input: StandardSchemaV1.InferOutput<Input>) => Effect);
  readonly enabled: (audience: ToolAudience<Context>) => boolean;
  readonly approval: "never" | "always" | ((input: StandardSchemaV1.InferOutput<Input>) => Awaitable<boolean>);
  readonly execute:
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
  Answer = HandlerReturn<Output, Stream>,
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
  const Answer extends HandlerReturn<Output, Stream> = HandlerReturn<Output, Stream>,
>(options: ToolOptions<Input, Output, Context, Stream, Answer>): Tool<Context> {
  return makeTool<Context>(options);
}

/** What a maker of tools adds: its own name, for errors, and what only its tools have. */
interface MakerFacts {
  readonly maker: string;
  readonly textFormat: TextFormat;
}

/** The tool of checked options. A tool with a `textFormat` takes one text in place of named fields. */
export function makeTool<Context>(options: unknown, extras?: MakerFacts): Tool<Context> {
  const {
    effect,
    approval,
    allowedCallers,
    tags,
    outputSchema: output,
    stream,
    ...read
  } = readToolOptions(options, extras?.maker);
  const { name, inputSchema: input } = read;
  const fault = toolNameFault(name);
  if (fault !== undefined)
    throw new PortcullisError("tool_invalid", `Tool ${JSON.stringify(name)}: this name cannot be used: ${fault}.`);
  if (!extras && !isLazy(input)) refuseUnnamedFields(name, jsonSchemaOf(name, "input", input));
  if (output !== undefined && !isLazy(output)) jsonSchemaOf(name, "output", output);
  const tool = Object.freeze<Tool<Context>>({
    ...read,
    outputSchema: output,
    stream: stream || undefined,
    allowedCallers: Object.freeze([...allowedCallers]),
    effect: typeof effect === "function" ? "write" : effect,
    effectOf: typeof effect === "function" ? effect : undefined,
    approvable: approval !== "never",
    needsApproval:
      typeof approval === "function" ? approval : approval === "always" ? needsApprovalAlways : () => false,
    tags: tags && [...tags],
    textFormat: extras?.textFormat,
  });
  checkInputFields(tool);
  return tool;
}

/** The same tool, whose calls run elsewhere. */
export function runsAt<Context>(place: string, tool: Tool<Context>, answeredBy?: () => string): Tool<Context> {
  return Object.freeze({ ...tool, place, ...(answeredBy && { answeredBy }) });
}

/** Throws a `PortcullisError` (`tool_invalid`) for a schema whose values are no objects. A lazy schema is not asked. */
export function refuseUnnamedFields(name: string, schema: JsonSchema): void {
  if (schema.type === "object") return;
  const expected = `a schema whose JSON Schema has type "object", because tools take named fields`;
  const got = schema.type ?? Object.keys(schema).find((key) => key === "anyOf" || key === "oneOf");
  const advice = schema.type === undefined && got !== undefined ? " (put a union into a field of an object)" : "";
  throw invalid(optionError(toolPlace(name).at("inputSchema"), expected + advice, got));
}

function readToolOptions(options: unknown, maker?: string) {
  const fields = isFields(options) ? options : {};
  const place = toolPlace(fields.name, maker);
  try {
    refuseForeignWords(place, fields);
    refuseSchemas(place, fields);
    const read = readOptions(place, options, TOOL_RULES);
    const { retry, rate, ...others } = read;
    const repeated = retry && { retry: readOptions(optionsIn(place, "retry"), retry, RETRY_RULES) };
    const bounded = rate && { rate: readOptions(optionsIn(place, "rate"), rate, RATE_RULES) };
    const [option, , why] = CONFLICTS.find(([, isRefused]) => isRefused(read)) ?? [];
    if (option !== undefined) throw new PortcullisError("tool_invalid", `${place.at(option)}: ${why}`);
    return { ...others, ...repeated, ...bounded };
  } catch (error) {
    throw invalid(error);
  }
}

type ReadOptions = CheckedOptions<typeof TOOL_RULES>;

/** Options that a tool cannot have beside its others, and why. */
const CONFLICTS: readonly (readonly [
  option: keyof ReadOptions,
  isRefused: (read: ReadOptions) => unknown,
  why: string,
])[] = [
  [
    "retry",
    ({ retry, effect }) => retry && effect === "write",
    'calls with the effect "write" are never repeated. Leave retry out, or declare the effect "idempotent" if a repetition changes nothing more.',
  ],
  ...(["retry", "rate"] as const).map(
    (option) =>
      [
        option,
        (read: ReadOptions) => read[option] && read.execute === "client",
        "calls that a client answers have no handler here. Leave it out.",
      ] as const,
  ),
  [
    "resumes",
    ({ stream, resumes }) => !stream && resumes !== undefined,
    "only a stream continues where it was left. Set `stream: true`, or leave it out.",
  ],
  [
    "retry",
    ({ stream, retry }) => stream && retry,
    "a stream is not begun again after an error. Leave retry out, and repeat requests in the handler.",
  ],
  [
    "execute",
    ({ stream, execute: handler }) => !stream && isAsyncGenerator(handler),
    "an async generator yields items one at a time. Set `stream: true`, or return one result.",
  ],
  [
    "stream",
    ({ stream, execute: handler }) => stream && handler === "client",
    "calls that a client answers have no handler here that could yield items. Leave it out.",
  ],
];

function isAsyncGenerator(handler: unknown): boolean {
  return Object.prototype.toString.call(handler) === "[object AsyncGeneratorFunction]";
}

/** What other libraries call the options of a tool. */
const FOREIGN_WORDS = {
  handler: "execute",
  run: "execute",
  func: "execute",
  parameters: "inputSchema",
  input: "inputSchema",
  output: "outputSchema",
  needsApproval: "approval",
} as const satisfies Readonly<Record<string, keyof typeof TOOL_RULES>>;

/** Answers the words of other libraries with those of this one, all at once. */
function refuseForeignWords({ subject }: OptionPlace, fields: Fields): void {
  const sentences = Object.entries(FOREIGN_WORDS)
    .filter(([word, own]) => Object.hasOwn(fields, word) && fields[own] === undefined)
    .map(([word, own]) => `\`${word}\` is called \`${own}\` here`);
  if (sentences.length > 0) throw new PortcullisError("tool_invalid", `${subject}: ${sentences.join("; ")}.`);
}

/** Refuses what is nearly a schema, and says what it lacks. The rules of the options refuse the rest. */
function refuseSchemas({ at }: OptionPlace, fields: Fields): void {
  for (const side of ["inputSchema", "outputSchema"] as const) {
    const fault = schemaFault(fields[side]);
    if (fault !== undefined) throw new PortcullisError("tool_invalid", `${at(side)}: ${fault}`);
  }
}

/** Names the tool in errors: `defineTool({ name: "crm.find", effect })`. */
export function toolPlace(name: unknown, maker = "defineTool"): OptionPlace {
  const named = typeof name === "string" && name.length <= 128 ? `name: ${JSON.stringify(name)}, ` : "";
  return {
    object: `${maker}(options)`,
    subject: named === "" ? maker : `${maker}({ ${named}… })`,
    at: (option) => `${maker}({ ${option === "name" ? "" : named}${option} })`,
  };
}

export function invalid(error: unknown): PortcullisError {
  return new PortcullisError("tool_invalid", thrownMessage(error));
}
