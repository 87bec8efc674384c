import type { Node } from "acorn";

/** The nodes of a syntax tree, in no certain order. Deep trees do not use up the stack. */
export function* nodesIn(root: unknown): Generator<Node> {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    if ("type" in value && "start" in value) yield value as Node;
    for (const child of Object.values(value)) if (typeof child === "object" && child !== null) open.push(child);
  }
}

/** A node that matches; undefined if there is none. */
export function findNode(root: unknown, matches: (node: Node) => boolean): Node | undefined {
  for (const node of nodesIn(root)) if (matches(node)) return node;
  return undefined;
}
