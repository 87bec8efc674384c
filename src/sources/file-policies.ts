import {
  checkOptions,
  fieldsOf,
  nearest,
  object,
  oneOf,
  option,
  optionError,
  type OptionPlace,
  type OptionRules,
  type OptionsOf,
  pick,
  PortcullisError,
} from "../base/index.ts";
import { ALLOWED_CALLERS, type Caller, EFFECTS, RETRY_RULES, TOOL_RULES } from "../tools/tool.ts";
import { checkNested } from "./tool-policy.ts";

/** Of the options of a tool's `retry`, those that a file can hold. */
const WRITTEN_RETRY = pick(RETRY_RULES, "attempts", "delayMs");

/** The part of a tool's policy that a file can hold. What is left out is taken from the more general entry. */
export const WRITTEN_RULES = {
  /** Which callers may call the tool: `"direct"`, `"programmatic"` or both. */
  allowedCallers: option<readonly Caller[]>(ALLOWED_CALLERS.expected, ALLOWED_CALLERS.accepts),
  /** What a call changes. A tool of an MCP server needs it; of an API it follows from the method by default. */
  effect: oneOf(EFFECTS),
  /** Whether a call needs approval; by default it needs none. */
  approval: oneOf(["never", "always"]),
  ...pick(TOOL_RULES, "unknownFields", "concurrency", "timeoutMs"),
  /** Makes a call again if it fails, `{ attempts, delayMs? }`, within `timeoutMs`. For tools that read or are idempotent. */
  retry: object<OptionsOf<typeof WRITTEN_RETRY>>(),
  ...pick(TOOL_RULES, "rate", "onUnknown", "tags", "instructions", "pinned", "defer"),
};

function checkWritten<Rules extends OptionRules>(place: OptionPlace, written: unknown, rules: Rules): OptionsOf<Rules> {
  return checkNested(checkOptions(place, written, rules), (name) => fieldsOf(place.at(name)), WRITTEN_RETRY);
}

/** The `portcullis` object of a file, about the tools of a source. */
export const FILE_RULES = {
  ...WRITTEN_RULES,
  /** What differs for some tools, by their names; false for tools of no caller. */
  tools: object<Readonly<Record<string, unknown>>>("an object of policies by the names of tools"),
};

/** What a file says about one tool. */
export type WrittenPolicy = OptionsOf<typeof WRITTEN_RULES>;

/** A policy that says who may call a tool. */
export type GrantedPolicy = WrittenPolicy & Required<Pick<WrittenPolicy, "allowedCallers">>;

interface Entry {
  readonly key: string;
  readonly prefix: string | undefined;
  readonly place: OptionPlace;
  readonly policy: WrittenPolicy | false;
}

interface PolicySubject {
  readonly place: OptionPlace;
  /** How errors name the source: `github`, or `the server`. */
  readonly source: string;
  /** The names by which the file may speak of a tool. */
  readonly namesOf: (tool: string) => readonly string[];
  readonly needsEffect: boolean;
}

function readEntries(place: OptionPlace, tools: object): readonly Entry[] {
  return Object.entries(tools).map(([key, policy]: [string, unknown]): Entry => {
    const at = fieldsOf(`${place.at("tools")}[${JSON.stringify(key.slice(0, 128))}]`);
    const star = key.indexOf("*");
    if (key === "" || (star !== -1 && star !== key.length - 1))
      throw optionError(at.object, "a tool's name, or one that ends with *", key);
    if (policy !== false && (typeof policy !== "object" || policy === null))
      throw optionError(at.object, "a policy, or false", policy);
    const read = policy === false ? false : checkWritten(at, policy, WRITTEN_RULES);
    return { key, prefix: star === -1 ? undefined : key.slice(0, -1), place: at, policy: read };
  });
}

/**
 * Throws a `PortcullisError` (`option_invalid`) for an entry that matches none of the source's tools, with the most
 * similar name: the tool that it was meant for would silently lack its policy.
 */
function refuseUnmatched({ source, namesOf }: PolicySubject, entries: readonly Entry[], tools: readonly string[]) {
  const names = new Set(tools.flatMap(namesOf));
  for (const { key, prefix, place } of entries) {
    if (prefix === undefined ? names.has(key) : names.values().some((name) => name.startsWith(prefix))) continue;
    const [meant] = nearest(key, [...names], 1);
    const what = prefix === undefined ? `tool ${JSON.stringify(key.slice(0, 128))}` : "tool whose name begins so";
    throw new PortcullisError(
      "option_invalid",
      `${place.object}: ${source} has no ${what}${meant === undefined ? "." : `, did you mean ${JSON.stringify(meant)}?`}`,
    );
  }
}

/** Undefined for a policy that says not who may call a tool, if it need not say so. */
function granted(
  own: WrittenPolicy,
  { at }: OptionPlace,
  isOfTool: boolean | undefined,
  needsEffect: boolean,
): GrantedPolicy | undefined {
  const { allowedCallers: callers, effect } = own;
  const missing =
    callers === undefined ? isOfTool && "allowedCallers" : needsEffect && effect === undefined && "effect";
  if (missing) throw optionError(at(missing), WRITTEN_RULES[missing].expected, undefined);
  return callers && (own as GrantedPolicy);
}

/**
 * The `portcullis` object of a file about the tools of a source: `{ allowedCallers, effect, approval?, tools?: { NAME:
 * policy } }`. A name may end with `*`, for all tools whose names begin so. Each field is taken from
 * the most specific entry that has it. `false` as the most specific entry leaves a tool to no caller. Throws a
 * `PortcullisError` (`option_invalid`) with the place of a field that is not as above.
 */
export function policiesIn(subject: PolicySubject, written: unknown) {
  const { place, namesOf, needsEffect } = subject;
  const { tools = {}, ...all } = checkWritten(place, written, FILE_RULES);
  const entries = readEntries(place, tools);
  /** The most general first. */
  const patterns = entries
    .filter(({ prefix }) => prefix !== undefined)
    .toSorted((one, other) => one.key.length - other.key.length);
  const whole = new Map(entries.flatMap((entry) => (entry.prefix === undefined ? [[entry.key, entry]] : [])));

  return {
    /**
     * The policy of a tool. If the file does not say who may call it, `others` is asked, and the file says the rest.
     * Undefined if nothing says who may call, false if the file says that no caller has it. Throws `option_invalid` for a
     * policy that says something of the tool, but not who may call it, or not what a call changes if that is needed.
     */
    of<Others extends object>(
      tool: string,
      others: () => Others | false | undefined,
    ): GrantedPolicy | (Others & WrittenPolicy) | false | undefined {
      const names = namesOf(tool);
      const fitting = [
        ...patterns.filter(({ prefix }) => names.some((name) => name.startsWith(prefix!))),
        ...names.flatMap((name) => whole.get(name) ?? []),
      ];
      const policies = fitting.map(({ policy }) => policy);
      if (policies.at(-1) === false) return false;
      const own: WrittenPolicy = Object.assign({}, all, ...policies);
      if (own.allowedCallers === undefined) {
        const fallback = others();
        if (fallback === false) return false;
        if (fallback) return { ...fallback, ...own };
      }
      const entry = fitting.at(-1);
      // What stands beside entries may be meant for the tools of these entries alone.
      const isForAll = all.effect !== undefined || (entries.length === 0 && Object.keys(own).length > 0);
      const isOfTool = isForAll || (entry && entry.prefix === undefined);
      return granted(own, entry?.place ?? place, isOfTool, needsEffect);
    },

    refuseUnmatched: (tools: readonly string[]) => refuseUnmatched(subject, entries, tools),
  };
}

export type FilePolicies = ReturnType<typeof policiesIn>;
