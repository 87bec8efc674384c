import { callbackRule, option } from "../base/index.ts";
import type { Tool } from "./tool.ts";
import { areSameTools, type ToolFailure, TOOLS, ToolSet } from "./tool-set.ts";

/** The tools of a runtime, or a function that returns its current tools. */
export type GivenTools<Context = unknown> = readonly Tool<Context>[] | (() => readonly Tool<Context>[]);

/** Rule of an option whose tools may change. */
export const GIVEN_TOOLS = callbackRule(
  option<GivenTools>(
    `${TOOLS.expected}, or a function that returns one`,
    (given) => typeof given === "function" || TOOLS.accepts(given),
  ),
);

/** The tools of a runtime. An execution keeps the tools that the runtime has when the execution begins. */
export class CurrentTools {
  readonly #given: GivenTools;
  readonly #option: string;
  /** What the set was made of. */
  #tools: readonly Tool[];
  #set: ToolSet;

  /** Throws as a `ToolSet` does, and as the function. `option` names the tools in an error. */
  constructor(given: GivenTools, option: string) {
    this.#given = given;
    this.#option = option;
    this.#set = new ToolSet(typeof given === "function" ? given() : given, option);
    this.#tools = this.#set.all;
  }

  /** The tools at the last `renew`, or at first. */
  get set(): ToolSet {
    return this.#set;
  }

  /**
   * The current tools, in the same set as long as they are the same. Throws as the constructor does, but for names that
   * conflict: the list of one source must not stop the tools of the others, so the newcomer is left out. `onLeftOut` is
   * told of it once.
   */
  renew(onLeftOut: (left: readonly ToolFailure[]) => void): ToolSet {
    if (typeof this.#given !== "function") return this.#set;
    const tools = this.#given();
    if (Array.isArray(tools) && areSameTools(this.#tools, tools)) return this.#set;
    const left: ToolFailure[] = [];
    const setOf = (given: readonly Tool[]) => new ToolSet(given, this.#option, (one) => left.push(one));
    let set = setOf(tools);
    if (left.splice(0).length > 0) set = setOf(tools.toSorted((a, b) => this.#newness(a) - this.#newness(b)));
    [this.#tools, this.#set] = [[...tools], set];
    if (left.length > 0) onLeftOut(left);
    return set;
  }

  /** What there is goes before what its source has changed, and both before what takes a name anew. */
  #newness(tool: Tool): number {
    const known = this.#set.get(tool.name);
    if (known === tool) return 0;
    return known && known.source === tool.source ? 1 : 2;
  }
}
