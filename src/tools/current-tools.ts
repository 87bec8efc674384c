import { asked, option } from "../base/index.ts";
import type { Tool } from "./tool.ts";
import { areSame, TOOLS, ToolSet } from "./tool-set.ts";

/** The tools of a runtime, or a function that returns its current tools. */
export type GivenTools<Context = unknown> = readonly Tool<Context>[] | (() => readonly Tool<Context>[]);

/** Rule of an option whose tools may change. */
export const GIVEN_TOOLS = asked(
  option<GivenTools>(
    `${TOOLS.expected}, or a function that returns one`,
    (given) => typeof given === "function" || TOOLS.accepts(given),
  ),
);

/** The tools of a runtime. An execution keeps the tools that the runtime has when the execution begins. */
export class CurrentTools {
  readonly #given: GivenTools;
  readonly #option: string;
  #set: ToolSet;

  /** Throws as a `ToolSet` does, and as the function. `option` names the tools in an error. */
  constructor(given: GivenTools, option: string) {
    this.#given = given;
    this.#option = option;
    this.#set = new ToolSet(typeof given === "function" ? given() : given, option);
  }

  /** The current tools, in the same set as long as they are the same. Throws as the constructor does. */
  get set(): ToolSet {
    if (typeof this.#given !== "function") return this.#set;
    const tools = this.#given();
    if (!Array.isArray(tools) || !areSame(this.#set.all, tools)) this.#set = new ToolSet(tools, this.#option);
    return this.#set;
  }
}
