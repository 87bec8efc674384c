import { PROTOCOL_VERSION } from "../../bridge/frames.ts";
import type { ProgramHeader } from "../journal/record.ts";

/** Maximum length of a version in a note: a journal may come from elsewhere. */
const VERSION_LENGTH = 40;

/** Versions that affect what a program does, beside node's own. */
export function programVersions(): Readonly<Record<string, string>> {
  return { v8: process.versions.v8, protocol: String(PROTOCOL_VERSION) };
}

/**
 * A sentence for the report of an execution that began with other versions than this host's; undefined if they are the
 * same. The replay shows whether the program does the same with them.
 */
export function changedVersions({ versions }: ProgramHeader): string | undefined {
  const here: Readonly<Record<string, string>> = { node: process.versions.node, ...programVersions() };
  const changed = Object.entries(here).flatMap(([name, version]) => {
    const began = Object.hasOwn(versions, name) ? versions[name] : undefined;
    return began === undefined || began === version
      ? []
      : [`${name} ${began.slice(0, VERSION_LENGTH)} there, ${version} here`];
  });
  return changed.length === 0
    ? undefined
    : `The execution began on a host with other versions (${changed.join("; ")}), and was replayed with these.`;
}
