import type { AnyNode } from "acorn";

/** The nodes of a syntax tree, in no certain order. Deep trees do not use up the stack. */
export function* nodesIn(root: unknown): Generator<AnyNode> {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    if ("type" in value && "start" in value) yield value as AnyNode;
    for (const child of Object.values(value)) if (typeof child === "object" && child !== null) open.push(child);
  }
}

export function findNode(root: unknown, matches: (node: AnyNode) => boolean): AnyNode | undefined {
  return nodesIn(root).find(matches);
}

/** The name of an identifier; empty for any other expression. */
export function nameOf(node: AnyNode): string {
  return "name" in node ? node.name : "";
}
