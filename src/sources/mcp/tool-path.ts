import { identifierOf } from "../../tools/tool-name.ts";

/** A name as a path of identifiers. */
export function cleanPath(name: string): string {
  return name.split(".").map(identifierOf).join(".");
}

/** The name of a server's tool in a program: the source's name, a dot, and the tool's own name as a path. */
export function toolPath(source: string, original: string): string {
  return `${source}.${cleanPath(original)}`;
}
