import { toolNameFault } from "../../tools/tool-name.ts";

/**
 * The name of a server's tool in a program: the source's name, a dot, and the tool's own name with `_` for whatever cannot
 * stand in a path. A part that is reserved, like `constructor`, gets a `_` behind it.
 */
export function toolPath(source: string, original: string): string {
  const parts = original.split(".").map((part) => {
    const cleaned = part.replaceAll(/[^A-Za-z0-9_]/g, "_").replace(/^(?=\d|$)/, "_");
    return toolNameFault(cleaned) === undefined ? cleaned : `${cleaned}_`;
  });
  return [source, ...parts].join(".");
}
