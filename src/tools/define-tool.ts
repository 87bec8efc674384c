import type { StandardSchemaV1 } from "@standard-schema/spec";
import { describe, PortcullisError } from "../errors.ts";
import { nearest } from "../options/nearest.ts";
import { isSchema, type JsonSchema, type Schema } from "./schema.ts";
import { type CallContext, type Caller, CALLERS, type Effect, EFFECTS, type Tool } from "./tool.ts";
import { toolNameFault } from "./tool-name.ts";

/** Time a handler has where its tool says nothing, in milliseconds. */
const HANDLER_TIMEOUT_MS = 60_000;

type Awaitable<Value> = Value | Promise<Value>;
type Result<Output extends Schema | undefined> = Output extends Schema ? StandardSchemaV1.InferInput<Output> : unknown;

export interface ToolOptions<Input extends Schema, Output extends Schema | undefined = undefined> {
  /** Reached by programs as `tools.` and this: identifiers with dots between, like `billing.listInvoices`. */
  readonly name: string;
  /** For the model: what it returns and when to use it. */
  readonly description: string;
  /** An object with named fields. */
  readonly input: Input;
  /** Shape of the result. What it does not name does not reach the program, where the schema's library drops it. */
  readonly output?: Output;
  /** There is no default: who may call is always written down. */
  readonly allowedCallers: readonly Caller[];
  readonly effect: Effect;
  /** Whether a call needs approval: `"never"` (default), `"always"`, or by its input. */
  readonly approval?: "never" | "always" | ((input: StandardSchemaV1.InferOutput<Input>) => Awaitable<boolean>);
  /**
   * Calls at once over all executions of a runtime; unlimited by default. A call that was given up does not count any
   * more, though a handler that does not heed its signal may still run.
   */
  readonly concurrency?: number;
  /** Time the handler has, in milliseconds; a minute by default. */
  readonly timeoutMs?: number;
  /**
   * Does it. What it returns must be JSON. What it throws stays on the host, and the program sees only that the
   * tool failed; a `PortcullisError` with code `tool_failed` carries its message to the program.
   */
  readonly handler: (input: StandardSchemaV1.InferOutput<Input>, context: CallContext) => Awaitable<Result<Output>>;
}

const OPTION_NAMES = [
  "name",
  "description",
  "input",
  "output",
  "allowedCallers",
  "effect",
  "approval",
  "concurrency",
  "timeoutMs",
  "handler",
];

/**
 * Defines a tool. Everything is checked here and now: a mistake throws a `PortcullisError` (`tool_invalid`)
 * that names the option, what was expected and what came.
 */
export function defineTool<Input extends Schema, Output extends Schema | undefined = undefined>(
  options: ToolOptions<Input, Output>,
): Tool {
  if (typeof options !== "object" || options === null)
    throw invalid(undefined, "defineTool(options)", "an object", options);
  const {
    name,
    description,
    input,
    output,
    allowedCallers,
    effect,
    approval = "never",
    concurrency = Number.POSITIVE_INFINITY,
    timeoutMs = HANDLER_TIMEOUT_MS,
    handler,
  } = options;
  const check = (option: string, holds: boolean, expected: string, got: unknown) => {
    if (!holds) throw invalid(name, option, expected, got);
  };
  check("name", typeof name === "string" && name !== "", "a name", name);
  const fault = toolNameFault(name);
  if (fault !== undefined)
    throw new PortcullisError("tool_invalid", `Tool ${JSON.stringify(name)}: this name cannot be used: ${fault}.`);
  for (const option of Object.keys(options)) {
    if (!OPTION_NAMES.includes(option))
      throw new PortcullisError(
        "tool_invalid",
        `Tool "${name}": there is no option ${JSON.stringify(option)}${didYouMean(option)}`,
      );
  }
  check(
    "description",
    typeof description === "string" && description.trim() !== "",
    "a text that tells the model what the tool does",
    description,
  );
  check(
    "input",
    isSchema(input),
    "a schema that can give its JSON Schema (zod 4, arktype, or jsonSchema() round a plain one)",
    input,
  );
  check(
    "output",
    output === undefined || isSchema(output),
    "a schema that can give its JSON Schema, or nothing",
    output,
  );
  check(
    "allowedCallers",
    isCallerList(allowedCallers),
    `a list of ${CALLERS.map((caller) => `"${caller}"`).join(" and ")}, at least one`,
    allowedCallers,
  );
  check("effect", EFFECTS.includes(effect), EFFECTS.map((word) => `"${word}"`).join(", "), effect);
  check(
    "approval",
    approval === "never" || approval === "always" || typeof approval === "function",
    `"never", "always" or a function of the input`,
    approval,
  );
  check(
    "concurrency",
    isCount(concurrency) || concurrency === Number.POSITIVE_INFINITY,
    "a whole number from 1",
    concurrency,
  );
  check("timeoutMs", isCount(timeoutMs) && timeoutMs <= 2 ** 31 - 1, "milliseconds from 1 to 2147483647", timeoutMs);
  check("handler", typeof handler === "function", "a function", handler);
  const inputSchema = jsonSchemaOf(name, "input", input);
  check(
    "input",
    inputSchema.type === "object",
    `a schema whose JSON Schema has type "object": tools take named fields`,
    inputSchema.type,
  );
  if (output !== undefined) jsonSchemaOf(name, "output", output);
  return Object.freeze<Tool>({
    name,
    description,
    input,
    output,
    allowedCallers: Object.freeze([...allowedCallers]),
    effect,
    approvable: approval !== "never",
    needsApproval: typeof approval === "function" ? approval : () => approval === "always",
    concurrency,
    timeoutMs,
    handler,
  });
}

/** JSON Schema of what a tool takes (`input`) or of what programs get from it (`output`). */
export function jsonSchemaOf(toolName: string, side: "input" | "output", schema: Schema): JsonSchema {
  try {
    return schema["~standard"].jsonSchema[side]({ target: "draft-2020-12" });
  } catch (error) {
    throw new PortcullisError(
      "tool_invalid",
      `Tool "${toolName}": ${side} has no JSON Schema: ${error instanceof Error ? error.message : String(error)}. Only JSON travels to and from a tool.`,
      { cause: error },
    );
  }
}

function isCallerList(value: unknown): value is readonly Caller[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    new Set(value).size === value.length &&
    value.every((caller) => CALLERS.includes(caller as Caller))
  );
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

function invalid(toolName: unknown, option: string, expected: string, got: unknown): PortcullisError {
  const subject = typeof toolName === "string" && toolName !== "" ? `Tool ${JSON.stringify(toolName)}` : "A tool";
  return new PortcullisError("tool_invalid", `${subject}: ${option}: expected ${expected}, got ${describe(got)}.`);
}

function didYouMean(option: string): string {
  const [name] = nearest(option, OPTION_NAMES, 1);
  return name === undefined ? "." : `: did you mean ${name}?`;
}
