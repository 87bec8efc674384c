import { callbackRule, option } from "../base/index.ts";
import type { Tool } from "./tool.ts";
import { areSameTools, type ToolFailure, TOOLS, ToolSet } from "./tool-set.ts";

/** The tools of a runtime, or a function that returns its current tools. */
export type ToolsOption<Context = unknown> = readonly Tool<Context>[] | (() => readonly Tool<Context>[]);

/** Rule of an option whose tools may change. */
export const TOOLS_OPTION = callbackRule(
  option<ToolsOption>(
    `${TOOLS.expected}, or a function that returns one`,
    (value) => typeof value === "function" || TOOLS.accepts(value),
  ),
);

/**
 * The tools of a runtime. An execution keeps the tools that the runtime has when the execution begins. Throws as a `ToolSet`
 * does, and as the function. `option` names the tools in an error.
 */
export function currentTools(source: ToolsOption, option: string) {
  let set = new ToolSet(typeof source === "function" ? source() : source, option);
  /** What the set was made of. */
  let list = set.all;

  /** What there is goes before what its source has changed, and both before what takes a name anew. */
  const newness = (tool: Tool): number => {
    const namesake = set.get(tool.name);
    if (namesake === tool) return 0;
    return namesake && namesake.source === tool.source ? 1 : 2;
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
    renew(onLeftOut: (failures: readonly ToolFailure[]) => void): ToolSet {
      if (typeof source !== "function") return set;
      const tools = source();
      if (Array.isArray(tools) && areSameTools(list, tools)) return set;
      const failures: ToolFailure[] = [];
      const setOf = (all: readonly Tool[]) => new ToolSet(all, option, (one) => failures.push(one));
      let renewed = setOf(tools);
      if (failures.splice(0).length > 0) renewed = setOf(tools.toSorted((a, b) => newness(a) - newness(b)));
      [list, set] = [[...tools], renewed];
      if (failures.length > 0) onLeftOut(failures);
      return set;
    },
  };
}

export type CurrentTools = ReturnType<typeof currentTools>;
