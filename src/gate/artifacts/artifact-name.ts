import { nearest } from "../../base/index.ts";

export const ARTIFACT_NAME_LENGTH = 100;
/** Names that are safe as names of files, on every system. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9 ._-]*$/;
const NAMES_LISTED = 20;

/** Why a name is invalid for an artifact, or undefined. */
export function artifactNameFault(name: string): string | undefined {
  if (name.length > ARTIFACT_NAME_LENGTH)
    return `its name has ${name.length} characters, at most ${ARTIFACT_NAME_LENGTH} are allowed`;
  if (NAME.test(name) && !/[ .]$/.test(name)) return undefined;
  return `its name is ${JSON.stringify(name)}, and a name has letters, digits, spaces and . _ - only, begins with a letter or digit, and does not end with a space or a dot`;
}

/** Says that nothing is kept under a name, and what there is. */
export function artifactUnknown(
  name: string,
  all: readonly { readonly name: string; readonly bytes: number }[],
): string {
  const shown = JSON.stringify(name);
  if (all.length === 0) return `nothing is kept under ${shown}, or under any other name: save a value first`;
  // The latest are most likely meant.
  const listed = all.slice(-NAMES_LISTED).map((one) => `${JSON.stringify(one.name)} (${one.bytes} bytes)`);
  const more = all.length > listed.length ? ` and ${all.length - listed.length} more` : "";
  const [meant] = nearest(
    name,
    Array.from(all, (one) => one.name),
    1,
  );
  return `nothing is kept under ${shown}, but under ${listed.join(", ")}${more}${meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`}`;
}
