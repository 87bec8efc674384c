import type { ToolDigest } from "../../journal/record.ts";

/** Where the calls of tools run, by the tools' names: of those that do not run in a handler of the host. */
export function placesOf(tools: readonly ToolDigest[]): ReadonlyMap<string, string> {
  return new Map(tools.flatMap(({ name, place }) => (place === undefined ? [] : [[name, place] as const])));
}
