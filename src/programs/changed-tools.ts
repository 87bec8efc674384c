import { PortcullisError } from "../errors.ts";
import type { Header } from "../journal/record.ts";
import type { Tool } from "../tools/tool.ts";
import { toolDigest } from "../tools/tool-digest.ts";

export interface ChangedTools {
  readonly gone: readonly string[];
  readonly changed: readonly string[];
}

/** The tools of a header that are gone, or defined otherwise now. */
export function changedTools(now: readonly Tool[], { tools }: Pick<Header, "tools">): ChangedTools {
  const known = new Map(now.map((tool) => [tool.name, toolDigest(tool)]));
  const gone = tools.filter(({ name }) => !known.has(name)).map(({ name }) => name);
  const changed = tools
    .filter(({ name, digest }) => known.has(name) && known.get(name) !== digest)
    .map(({ name }) => name);
  return { gone, changed };
}

/** Throws `tools_changed` where tools are gone or changed. */
export function refuseChangedTools({ gone, changed }: ChangedTools): void {
  if (gone.length + changed.length === 0) return;
  const parts = [
    ...(gone.length === 0 ? [] : [`gone: ${gone.join(", ")}`]),
    ...(changed.length === 0 ? [] : [`changed: ${changed.join(", ")}`]),
  ];
  throw new PortcullisError(
    "tools_changed",
    `The tools are not those that the execution began with (${parts.join("; ")}). Give it the tools it began with, or resume it with allowChangedTools (--allow-changed-tools).`,
  );
}
