import { toolNameFault } from "../../tools/tool-name.ts";

/** A name as a path of identifiers: `_` replaces other characters, and ends reserved parts, like `constructor`. */
export function cleanPath(name: string): string {
  const parts = name.split(".").map((part) => {
    const cleaned = part.replaceAll(/[^A-Za-z0-9_]/g, "_").replace(/^(?=\d|$)/, "_");
    return toolNameFault(cleaned) === undefined ? cleaned : `${cleaned}_`;
  });
  return parts.join(".");
}

/** The name of a server's tool in a program: the source's name, a dot, and the tool's own name as a path. */
export function toolPath(source: string, original: string): string {
  return `${source}.${cleanPath(original)}`;
}
