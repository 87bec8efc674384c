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

/**
 * The tools of a runtime. An execution keeps the tools that the runtime has when the execution begins. Throws as a `ToolSet`
 * does, and as the function. `option` names the tools in an error.
 */
export function currentTools(given: GivenTools, option: string) {
  let set = new ToolSet(typeof given === "function" ? given() : given, option);
  /** What the set was made of. */
  let made = set.all;

  /** What there is goes before what its source has changed, and both before what takes a name anew. */
  const newness = (tool: Tool): number => {
    const known = set.get(tool.name);
    if (known === tool) return 0;
    return known && known.source === tool.source ? 1 : 2;
  };

  return {
    /** The tools at the last `renew`, or at first. */
    get set(): ToolSet {
      return set;
    },

    /**
     * The current tools, in the same set as long as they are the same. Throws as at first, but for names that
     * conflict: the list of one source must not stop the tools of the others, so the newcomer is left out. `onLeftOut` is
     * told of it once.
     */
    renew(onLeftOut: (left: readonly ToolFailure[]) => void): ToolSet {
      if (typeof given !== "function") return set;
      const tools = given();
      if (Array.isArray(tools) && areSameTools(made, tools)) return set;
      const left: ToolFailure[] = [];
      const setOf = (all: readonly Tool[]) => new ToolSet(all, option, (one) => left.push(one));
      let renewed = setOf(tools);
      if (left.splice(0).length > 0) renewed = setOf(tools.toSorted((a, b) => newness(a) - newness(b)));
      [made, set] = [[...tools], renewed];
      if (left.length > 0) onLeftOut(left);
      return set;
    },
  };
}

export type CurrentTools = ReturnType<typeof currentTools>;
