import { optionError, PortcullisError } from "../../errors.ts";
import { nearest } from "../../options/nearest.ts";
import {
  checkOptions,
  fieldsOf,
  flag,
  object,
  oneOf,
  option,
  type OptionPlace,
  type OptionsOf,
  wholeNumber,
} from "../../options/options.ts";
import { ALLOWED_CALLERS, TIMEOUT_MS } from "../../tools/define-tool.ts";
import { type Caller, EFFECTS } from "../../tools/tool.ts";
import type { ToolPolicy } from "../tool-policy.ts";
import { PROTOCOLS } from "./mcp-options.ts";
import { isFields } from "../../values/fields.ts";

const CALLERS_RULE = option<readonly Caller[]>(ALLOWED_CALLERS.expected, ALLOWED_CALLERS.accepts);

/** What a configuration file may say of a tool. */
export const FILE_POLICY_RULES = {
  allowedCallers: CALLERS_RULE,
  effect: oneOf(EFFECTS),
  approval: oneOf(["never", "always"]),
  unknownFields: oneOf(["refuse", "allow"]),
  concurrency: wholeNumber({ min: 1 }),
  timeoutMs: wholeNumber(TIMEOUT_MS),
};

/** What a configuration file may say of a server, under `portcullis`. */
export const FILE_SERVER_RULES = {
  ...FILE_POLICY_RULES,
  /** Tools by the server's own names: what differs from the server's policy, or false for a tool of no caller. */
  tools: object("an object of policies by the names of tools"),
  pin: flag(),
  protocol: oneOf(PROTOCOLS),
  connectTimeoutMs: wholeNumber(TIMEOUT_MS),
};

type FilePolicy = OptionsOf<typeof FILE_POLICY_RULES>;
export type FileServerOptions = Pick<OptionsOf<typeof FILE_SERVER_RULES>, "pin" | "protocol" | "connectTimeoutMs">;

/** What a file says of one server's tools. */
export interface FilePolicies {
  readonly options: FileServerOptions;
  /** The policy of a tool, by the server's own name of it. */
  readonly policyOf: (tool: string) => ToolPolicy | undefined;
  /** Whether the file speaks of this tool by name, if only to leave it to no caller. */
  readonly names: readonly string[];
}

/** Throws `option_invalid`; `place` names the `portcullis` key in an error. */
export function readFilePolicies(place: OptionPlace, given: unknown): FilePolicies {
  if (given === undefined) return { options: {}, policyOf: () => undefined, names: [] };
  const { tools = {}, pin, protocol, connectTimeoutMs, ...common } = checkOptions(place, given, FILE_SERVER_RULES);
  const own = new Map<string, FilePolicy | false>(
    Object.entries(tools).map(([name, policy]) => {
      const at = `${place.at("tools")}[${JSON.stringify(name.slice(0, 128))}]`;
      if (policy === false) return [name, false];
      if (!isFields(policy)) throw optionError(at, "a policy, or false", policy);
      const merged = { ...common, ...checkOptions(fieldsOf(at), policy, FILE_POLICY_RULES) };
      requireBoth(at, merged);
      return [name, merged];
    }),
  );
  // Without callers and effect, what stands there is the default for tools that are named.
  const isDefault = common.allowedCallers === undefined && common.effect === undefined;
  if (!isDefault || (own.size === 0 && Object.keys(common).length > 0)) requireBoth(place.object, common);
  return {
    options: {
      ...(pin === undefined ? {} : { pin }),
      ...(protocol === undefined ? {} : { protocol }),
      ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
    },
    policyOf: (tool) => {
      const policy = own.has(tool) ? own.get(tool) : !isDefault && common;
      return policy ? (policy as ToolPolicy) : undefined;
    },
    names: [...own.keys()],
  };
}

function requireBoth(at: string, { allowedCallers, effect }: FilePolicy): void {
  if (allowedCallers === undefined) throw optionError(`${at}.allowedCallers`, ALLOWED_CALLERS.expected, undefined);
  if (effect === undefined) throw optionError(`${at}.effect`, FILE_POLICY_RULES.effect.expected, undefined);
}

/** Throws `option_invalid` for the name of a tool that the server does not have. */
export function refuseUnknownTools(place: OptionPlace, names: readonly string[], listed: readonly string[]): void {
  const unknown = names.find((name) => !listed.includes(name));
  if (unknown === undefined) return;
  const [meant] = nearest(unknown, listed, 1);
  throw new PortcullisError(
    "option_invalid",
    `${place.at("tools")}: the server has no tool ${JSON.stringify(unknown.slice(0, 128))}${meant === undefined ? "." : `, did you mean ${JSON.stringify(meant)}?`}`,
  );
}
