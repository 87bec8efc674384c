import type { Node } from "acorn";

/** Visits each node of a syntax tree, in no certain order. Deep trees do not use up the stack. */
export function walkNodes(root: unknown, visit: (node: Node) => void): void {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    if ("type" in value && "start" in value) visit(value as Node);
    for (const child of Object.values(value)) if (typeof child === "object" && child !== null) open.push(child);
  }
}
