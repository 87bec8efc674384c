import { optionError } from "../base/index.ts";
import { jsonSchema, type Schema } from "../tools/schema.ts";
import type { Tool } from "../tools/tool.ts";
import { adopt, foreignSchema, type ToolPolicies, unusable } from "./tool-policy.ts";

/** The fields used here of a tool that the AI SDK's `tool()` makes. */
export interface AiSdkTool {
  readonly description?: unknown;
  readonly inputSchema: unknown;
  readonly outputSchema?: unknown;
  readonly needsApproval?: unknown;
  readonly execute?: unknown;
  readonly contextSchema?: unknown;
}

const AI_SDK_SCHEMA = Symbol.for("vercel.ai.schema");

/** Adopts tools of the AI SDK, by name. Tools without `execute` run in its client and cannot be adopted. */
export function fromAiSdk(tools: Readonly<Record<string, AiSdkTool>>, policies: ToolPolicies): readonly Tool[] {
  if (typeof tools !== "object" || tools === null) throw optionError("fromAiSdk(tools)", "tools by their names", tools);
  return Object.entries(tools).map(([name, tool]) => {
    const { description = name, inputSchema, outputSchema, execute, needsApproval, contextSchema } = tool;
    if (typeof execute !== "function") throw unusable("fromAiSdk", name, "it has no execute");
    if (contextSchema !== undefined)
      throw unusable(
        "fromAiSdk",
        name,
        "only the AI SDK can pass the context it declares; close over that value instead",
      );
    const asks = (typeof needsApproval === "function" ? needsApproval : () => needsApproval) as Run<boolean>;
    return adopt(
      {
        source: "ai-sdk",
        name,
        description,
        inputSchema: schemaOf(name, inputSchema),
        outputSchema: outputSchema === undefined ? undefined : schemaOf(name, outputSchema),
        needsApproval: needsApproval === undefined ? undefined : (input) => asks(input, { messages: [] }),
        execute: (input, { signal, callId }) =>
          lastOf((execute as Run)(input, { toolCallId: callId, messages: [], abortSignal: signal })),
      },
      policies,
    );
  });
}

type Run<Result = unknown> = (input: unknown, options: object) => Result;

function schemaOf(name: string, schema: unknown): Schema {
  // The AI SDK also accepts a function that returns the schema.
  const spec: unknown = typeof schema === "function" && !("~standard" in schema) ? (schema as () => unknown)() : schema;
  if (typeof spec !== "object" || spec === null || !(AI_SDK_SCHEMA in spec))
    return foreignSchema("fromAiSdk", name, spec);
  const { jsonSchema: plain, validate } = spec as object as {
    readonly jsonSchema: unknown;
    readonly validate?: unknown;
  };
  if (typeof plain !== "object" || plain === null || "then" in plain)
    throw unusable("fromAiSdk", name, "its schema is a promise; await it, and pass jsonSchema(…) of the result");
  const { $schema: _, ...own } = plain as Record<string, unknown>;
  const schemaItself = jsonSchema(own);
  return typeof validate === "function" ? validatedBy(schemaItself, validate as Validate) : schemaItself;
}

type Validate = (value: unknown) => Validation | PromiseLike<Validation>;
type Validation =
  | { readonly success: true; readonly value: unknown }
  | { readonly success: false; readonly error: { readonly message: string } };

function validatedBy(schema: Schema, validate: Validate): Schema {
  return {
    "~standard": {
      ...schema["~standard"],
      async validate(value) {
        const validation = await validate(value);
        return validation.success ? { value: validation.value } : { issues: [{ message: validation.error.message }] };
      },
    },
  };
}

/** A tool may yield preliminary results before its result. */
async function lastOf(result: unknown): Promise<unknown> {
  const settled: unknown = await result;
  if (typeof settled !== "object" || settled === null || !(Symbol.asyncIterator in settled)) return settled;
  let last: unknown;
  for await (const part of settled as AsyncIterable<unknown>) last = part;
  return last;
}
