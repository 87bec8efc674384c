import { commentLine } from "../tools/declarations/one-line.ts";
import { namespacesOf, toolNameFault } from "../tools/tool-name.ts";

const PROBLEM_LENGTH = 500;
/** Characters of it that say what is left out. */
const TOOL_LENGTH = 250;

export function problemText(problem: string): string {
  return `${commentLine(problem, PROBLEM_LENGTH)}.`;
}

/** The problem of a described tool that is left out. */
export function omissionText(tool: string, why: string): string {
  return problemText(`${commentLine(tool, TOOL_LENGTH)} is left out: ${why.replace(/\.$/, "")}`);
}

/** The problem of a described tool that is taken over although something of it is not checked. */
export function uncheckedPart(tool: string, [first = "", ...others]: readonly string[]): string {
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return `${commentLine(`${tool} is not checked as a whole: ${first.replace(/\.$/, "")}`, PROBLEM_LENGTH)}${more}.`;
}

/** The problem of tools that a document has at a server of their own. */
export function otherServerProblem(server: string, [first, ...others]: readonly { readonly name: string }[]): string {
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  return commentLine(
    `${first?.name}${more}: the document names a server of its own, ${server}. It is called at baseUrl all the same; a source with that address reaches it.`,
    PROBLEM_LENGTH,
  );
}

/**
 * The tools of a source whose names clash, each with another such tool: both have the same name, or the name of one is a
 * namespace of the other. Names that no tool can have are left aside.
 */
export function nameClashes<One extends { readonly name: string }>(named: readonly One[]): ReadonlyMap<One, One> {
  const possible = named.filter(({ name }) => toolNameFault(name) === undefined);
  const byName = Map.groupBy(possible, ({ name }) => name);
  const found = new Map<One, One>();
  for (const one of possible) {
    const [first, second] = byName.get(one.name) ?? [];
    const same = first === one ? second : first;
    // A tool whose name is a namespace of this tool.
    const other = same ?? namespacesOf(one.name).flatMap((outer) => byName.get(outer) ?? [])[0];
    if (!other) continue;
    found.set(one, other);
    if (!same && !found.has(other)) found.set(other, one);
  }
  return found;
}
