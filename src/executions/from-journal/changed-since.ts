import { PROTOCOL_VERSION } from "../../../bridge/frames.ts";
import { packageVersion, PortcullisError } from "../../base/index.ts";
import type { Header, ToolDigest } from "../../journal/record.ts";
import { CALLERS } from "../../tools/tool.ts";
import { recordedTool } from "../../gate/header-base.ts";
import type { ToolSet } from "../../tools/tool-set.ts";

export interface ChangedTools {
  readonly gone: readonly string[];
  readonly changed: readonly string[];
}

/** The tools of a header that are gone, or defined otherwise now. */
export function changedTools(now: Pick<ToolSet, "get">, { tools }: Pick<Header, "tools">): ChangedTools {
  const pairs = tools.map((was) => ({ was, tool: now.get(was.name) }));
  const gone = pairs.filter(({ tool }) => !tool).map(({ was }) => was.name);
  const changed = pairs
    .filter(({ was, tool }) => tool && !isAsBefore(recordedTool(tool), was))
    .map(({ was }) => was.name);
  return { gone, changed };
}

/** A tool that more callers may call now is driven for those of the header alone. */
function isAsBefore(now: ToolDigest, was: ToolDigest): boolean {
  const { callers = CALLERS } = now;
  return (
    now.digest === was.digest &&
    now.effect === was.effect &&
    now.place === was.place &&
    (was.callers ?? CALLERS).every((caller) => callers.includes(caller))
  );
}

/** Throws `tools_changed` if tools are gone or changed. */
export function refuseChangedTools({ gone, changed }: ChangedTools): void {
  if (gone.length + changed.length === 0) return;
  const parts = [
    ...(gone.length === 0 ? [] : [`gone: ${gone.join(", ")}`]),
    ...(changed.length === 0 ? [] : [`changed: ${changed.join(", ")}`]),
  ];
  throw new PortcullisError(
    "tools_changed",
    `The tools are not those that the execution began with (${parts.join("; ")}). Give it the tools it began with (--tools, --mcp, --openapi), or resume it with allowChangedTools (--allow-changed-tools).`,
  );
}

/** Maximum length of a version in a note: a journal may come from elsewhere. */
const VERSION_LENGTH = 40;

/** Versions that affect what a program does, beside node's own. */
export function programVersions(): Readonly<Record<string, string>> {
  return { v8: process.versions.v8, protocol: String(PROTOCOL_VERSION) };
}

/** Throws `journal_version` for a program whose guest spoke another protocol: its turns could not be replayed. */
export function refuseOtherProtocol(header: Header | undefined): void {
  const began = header?.kind === "program" ? header.versions["protocol"] : undefined;
  if (header === undefined || began === undefined || began === String(PROTOCOL_VERSION)) return;
  throw new PortcullisError(
    "journal_version",
    `Execution ${JSON.stringify(header.execution)} began with a version of portcullis whose guest speaks protocol ${began.slice(0, VERSION_LENGTH)}, and this one speaks ${PROTOCOL_VERSION}. It waits for a worker of that version.`,
  );
}

let own: { readonly version: string | undefined } | undefined;

/** The version of this package; undefined where a bundler has packed it, which leaves `package.json` behind. */
export function ownVersion(): string | undefined {
  own ??= { version: versionIfThere() };
  return own.version;
}

function versionIfThere(): string | undefined {
  try {
    return packageVersion();
  } catch {
    return undefined;
  }
}
