import { optionError, PortcullisError } from "../errors.ts";
import { nearest } from "../options/nearest.ts";
import {
  checkOptions,
  object,
  oneOf,
  option,
  type OptionPlace,
  type OptionsOf,
  optionsIn,
} from "../options/options.ts";
import { TOOL_RULES } from "../tools/define-tool.ts";
import { type Caller, EFFECTS } from "../tools/tool.ts";

const { allowedCallers, concurrency, timeoutMs } = TOOL_RULES;

/** The part of a tool's policy that a file can hold. What is left out is taken from the more general entry. */
const WRITTEN_RULES = {
  allowedCallers: option<readonly Caller[]>(allowedCallers.expected, allowedCallers.accepts),
  effect: oneOf(EFFECTS),
  approval: oneOf(["never", "always"]),
  unknownFields: oneOf(["refuse", "allow"]),
  concurrency: option<number>(concurrency.expected, concurrency.accepts),
  timeoutMs: option<number>(timeoutMs.expected, timeoutMs.accepts),
};

const FILE_RULES = { ...WRITTEN_RULES, tools: object<Readonly<Record<string, unknown>>>("an object of policies") };

/** What a file says about one tool. */
export type WrittenPolicy = OptionsOf<typeof WRITTEN_RULES>;

/** A policy that is complete for every tool: it says who may call it. */
export type GrantedPolicy = WrittenPolicy & Required<Pick<WrittenPolicy, "allowedCallers">>;

/** An entry of `tools`. `prefix` is what stands before the `*` of a pattern. */
interface Entry {
  readonly key: string;
  readonly prefix: string | undefined;
  /** `false`: no caller has the tool. */
  readonly policy: WrittenPolicy | false;
}

/**
 * The `portcullis` object of a file about the tools of one source: `{ allowedCallers, effect, approval?, tools?: { NAME:
 * policy } }`. A name is that of a tool, with or without the source's name in front, or ends with `*` for all that begin
 * so. The most specific entry says what it says, and the more general ones say the rest: all other fields. `false` in
 * place of a policy leaves a tool out. A tool whose callers nothing is said about has no policy.
 */
export class FilePolicies {
  readonly #place: OptionPlace;
  readonly #source: string;
  readonly #all: WrittenPolicy;
  readonly #entries: readonly Entry[];

  /** Throws a `PortcullisError` (`option_invalid`) with the place of a field that is not as above. */
  constructor(place: OptionPlace, source: string, written: unknown) {
    const { tools = {}, ...all } = checkOptions(place, written, FILE_RULES);
    this.#place = place;
    this.#source = source;
    this.#all = all;
    const within = optionsIn(place, "tools");
    this.#entries = Object.entries(tools).map(([key, policy]) => {
      const star = key.indexOf("*");
      if (key === "" || (star !== -1 && star !== key.length - 1))
        throw optionError(within.at(JSON.stringify(key)), "a tool's name, or one that ends with *", key);
      return {
        key,
        prefix: star === -1 ? undefined : key.slice(0, -1),
        policy: policy === false ? false : checkOptions(optionsIn(within, JSON.stringify(key)), policy, WRITTEN_RULES),
      };
    });
  }

  /** The policy of a tool by its whole name; undefined where nothing says who may call it. */
  of(name: string): GrantedPolicy | undefined {
    const matching = this.#entries
      .filter((entry) => this.#matches(entry, name))
      .toSorted((one, other) => specificity(one) - specificity(other))
      .map(({ policy }) => policy);
    if (matching.at(-1) === false) return undefined;
    const policy: WrittenPolicy = Object.assign({}, this.#all, ...matching);
    return policy.allowedCallers === undefined ? undefined : { ...policy, allowedCallers: policy.allowedCallers };
  }

  /**
   * Throws a `PortcullisError` (`option_invalid`) for an entry that matches none of the source's tools, with the most
   * similar name: a policy that was meant for a tool would otherwise be missing without a word.
   */
  refuseUnmatched(names: readonly string[]): void {
    for (const entry of this.#entries) {
      if (names.some((name) => this.#matches(entry, name))) continue;
      const within = optionsIn(this.#place, "tools").at(JSON.stringify(entry.key));
      const [meant] = nearest(
        entry.key,
        names.flatMap((name) => [name, this.#short(name)]),
        1,
      );
      throw new PortcullisError(
        "option_invalid",
        `${within}: ${this.#source} has no tool ${entry.prefix === undefined ? "of this name" : "whose name begins so"}${meant === undefined ? "." : `, did you mean ${meant}?`}`,
      );
    }
  }

  #matches({ key, prefix }: Entry, name: string): boolean {
    const names = [name, this.#short(name)];
    return prefix === undefined ? names.includes(key) : names.some((one) => one.startsWith(prefix));
  }

  /** The name without that of the source in front. */
  #short(name: string): string {
    return name.startsWith(`${this.#source}.`) ? name.slice(this.#source.length + 1) : name;
  }
}

/** The longer the pattern the more specific it is, and a whole name is more specific than all patterns. */
function specificity({ key, prefix }: Entry): number {
  return prefix === undefined ? Number.POSITIVE_INFINITY : key.length;
}
