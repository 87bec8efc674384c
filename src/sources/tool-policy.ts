import {
  callback,
  checkOptions,
  describe,
  fieldOf,
  type OptionPlace,
  type OptionRules,
  optionsIn,
  type OptionsOf,
  pick,
  PortcullisError,
  words,
} from "../base/index.ts";
import { Content, withValue } from "../tools/content.ts";
import { defineTool } from "../tools/define-tool.ts";
import { type CallContext, RATE_RULES, RETRY_RULES, type Tool, TOOL_RULES } from "../tools/tool.ts";
import { isSchema, jsonSchema, type Schema, schemaFault } from "../tools/schema.ts";

const OWN_RULES = {
  /** Replaces a name that is not a valid tool name. */
  name: words("a name"),
  /** Whether a call needs approval; by default the library's own rule. */
  approval: TOOL_RULES.approval,
  /** Schema of the result, in place of the source's own. */
  outputSchema: TOOL_RULES.outputSchema,
  /**
   * Makes the tool's result of what the source gives: it gets that and the input. Only what it makes counts, fits `outputSchema` and
   * is seen. The source's own schema then does not hold. A failure is not shaped.
   */
  shape: callback<(result: never, input: never) => unknown>(),
};

export const POLICY_RULES = {
  ...pick(TOOL_RULES, "allowedCallers", "effect"),
  ...OWN_RULES,
  ...pick(TOOL_RULES, "unknownFields", "concurrency", "retry", "rate", "enabled", "timeoutMs", "onUnknown"),
  ...pick(TOOL_RULES, "tags", "instructions", "pinned", "defer"),
};

/**
 * What a tool of another library does not declare: which callers may call it, and whether a call changes something.
 */
export type ToolPolicy = OptionsOf<typeof OWN_RULES & Pick<typeof TOOL_RULES, OfTools>>;

/** Not derived from `POLICY_RULES`: rules that are spread lose their comments in declaration files. */
type OfTools = Exclude<keyof typeof POLICY_RULES, keyof typeof OWN_RULES>;

/** One policy for all tools, or a function from a tool's name to its policy. */
export type ToolPolicies = ToolPolicy | ((name: string) => ToolPolicy);

export interface ForeignTool {
  readonly source: string;
  readonly name: string;
  readonly description: unknown;
  readonly inputSchema: Schema;
  readonly outputSchema?: Schema;
  readonly needsApproval?: (input: unknown) => boolean | Promise<boolean>;
  readonly execute: (input: unknown, context: CallContext) => unknown;
}

export function adopt(
  { source, name, description, inputSchema: input, outputSchema: output, needsApproval, execute: run }: ForeignTool,
  policies: ToolPolicies,
): Tool {
  const policy = typeof policies === "function" ? policies(name) : policies;
  return defineTool({
    name,
    description: description as string,
    inputSchema: input,
    approval: needsApproval,
    ...withResult(checkPolicy(name, policy), output, run),
    source,
  });
}

/** A policy in the terms of `defineTool`, with the handler: `run`, whose result has the schema `declared`, shaped by the policy. */
export function withResult<Own extends Pick<ToolPolicy, "shape" | "outputSchema">>(
  { shape, outputSchema: output, ...policy }: Own,
  declared: Schema | undefined,
  run: ForeignTool["execute"],
) {
  const outputSchema = output ?? (shape ? undefined : declared);
  return { ...policy, outputSchema, execute: shape ? shaped(shape, run) : run };
}

function shaped(shape: NonNullable<ToolPolicy["shape"]>, run: ForeignTool["execute"]): ForeignTool["execute"] {
  return async (input, context) => {
    const result = await run(input, context);
    const transform = shape as (result: unknown, input: unknown) => unknown;
    if (!Content.is(result)) return transform(result, input);
    return result.isError ? result : withValue(result, await transform(result.value, input));
  };
}

/** What a source reads at most for `shape`: as much as a result may have by default. */
const UNSHAPED: Readonly<Record<string, number>> = { resultBytes: 32 * 1024 * 1024, resultValues: 4_000_000 };

/** The context of a call to a source. With `shape` the limits of results are for what it makes, and not for what is read. */
export function sourceContext({ shape }: Pick<ToolPolicy, "shape">, context: CallContext): CallContext {
  if (!shape) return context;
  return new Proxy(context, {
    get(own, name) {
      // The fields of a context read its private parts.
      const field: unknown = Reflect.get(own, name, own);
      const most = fieldOf(UNSHAPED, name as string);
      return most === undefined ? field : Math.max(field as number, most as number);
    },
  });
}

/** The policy of a tool with this name. Throws `option_invalid`. */
export function checkPolicy(name: string, policy: unknown): ToolPolicy {
  const subject = `policy of ${JSON.stringify(name)}`;
  const place: OptionPlace = { object: subject, subject, at: (option) => `${subject}: { ${option} }` };
  return checkNested(checkOptions(place, policy, POLICY_RULES), (option) => optionsIn(place, option), RETRY_RULES);
}

/**
 * A policy whose objects are checked too. Found by `defineTool` alone, a mistake in them would leave tools out, as if their
 * source were at fault.
 */
export function checkNested<Policy extends { readonly retry?: unknown; readonly rate?: unknown }>(
  policy: Policy,
  within: (option: string) => OptionPlace,
  retryRules: OptionRules,
): Policy {
  if (policy.retry !== undefined) checkOptions(within("retry"), policy.retry, retryRules);
  if (policy.rate !== undefined) checkOptions(within("rate"), policy.rate, RATE_RULES);
  return policy;
}

/** A schema of another library: a standard schema, or plain JSON Schema. */
export function foreignSchema(maker: string, tool: string, schema: unknown): Schema {
  if (isSchema(schema)) return schema;
  const fault =
    typeof schema === "object" && schema !== null && !("~standard" in schema) ? undefined : schemaFault(schema);
  if (fault !== undefined) throw unusable(maker, tool, `its input schema is unusable: ${fault.replace(/\.$/, "")}`);
  if (typeof schema === "object" && schema !== null && !(schema instanceof Promise)) {
    const { $schema: _, ...plain } = schema as Record<string, unknown>;
    return jsonSchema(plain);
  }
  throw unusable(maker, tool, `its input schema is ${describe(schema)}`);
}

export function unusable(maker: string, tool: string, why: string): PortcullisError {
  return new PortcullisError("tool_invalid", `${maker}: tool ${JSON.stringify(tool)} cannot be adopted: ${why}.`);
}
