import { PortcullisError } from "../../base/index.ts";
import type { ReadServer } from "./mcp-options.ts";
import type { Session } from "./session.ts";
import { type ListReader, type McpPolicies, type ToolList, ToolListBuilder } from "./make-tools.ts";

const NO_RESOURCES = "The server says that it has no resources, so no tool reads them: leave resources out.";

type Digests = ReadonlyMap<string, string>;

/** The tools of a source, by the latest list of its server. Pinned tools keep the definitions of the first list. */
export function sourceTools(
  server: ReadServer,
  policies: McpPolicies | undefined,
  source: Pick<ListReader, "call" | "answeredBy">,
) {
  let list: ToolList = { entries: [], problems: [] };
  let digests: Digests = new Map();
  /** Why the list is not whole, or could not be read again. */
  let problem: string | undefined;
  let pinned: Digests | undefined;
  let readings = 0;
  const isPinned = (original: string, digest: string) => !server.pin || pinned?.get(original) === digest;

  return {
    all: () => list.entries,

    /** Without what differs from its pinned definition, or has none. */
    entries: () => list.entries.filter(({ listed: { original, digest } }) => isPinned(original, digest)),

    problems(): readonly string[] {
      const changed = [...digests].filter((one) => !isPinned(...one));
      return [
        ...(problem === undefined ? [] : [problem]),
        ...list.problems,
        ...changed.map(
          ([original]) =>
            `${JSON.stringify(original)} is left out: it is new or has changed since the tools were pinned.`,
        ),
      ];
    },

    async read(session: Session, signal: AbortSignal): Promise<void> {
      readings += 1;
      const reading = readings;
      const { name, timeoutMs, resources } = server;
      const known = list.entries;
      const builder = new ToolListBuilder({ source: name, policies, timeoutMs, resources, known, ...source });
      const missing = await session.listTools(signal, (entries) => builder.add(entries));
      if (resources && session.hasResources) builder.addReader();
      const now = await builder.finish();
      if (reading !== readings) return;
      const before = digests;
      list = now;
      digests = new Map(list.entries.map(({ listed: { original, digest } }) => [original, digest]));
      problem = resources && !session.hasResources ? (missing ?? NO_RESOURCES) : missing;
      if (pinned) tellChange(server, before, digests);
      pinned ??= digests;
    },

    /** The list could not be read again. */
    fail(why: string): void {
      problem = why;
    },

    /** Refuses a call of a tool whose definition differs from the first list. */
    refuseChanged(original: string, name: string, digest: string): void {
      if (!server.pin || (digests.get(original) === digest && isPinned(original, digest))) return;
      throw new PortcullisError(
        "source_unavailable",
        `The definition of ${name} has changed since it was pinned, so it is refused. Continue without it.`,
      );
    },
  };
}

function tellChange({ name: source, onSourceChange }: ReadServer, before: Digests, now: Digests): void {
  const added = [...now.keys()].filter((original) => !before.has(original));
  const removed = [...before.keys()].filter((original) => !now.has(original));
  const changed = [...now.keys()].filter(
    (original) => before.has(original) && before.get(original) !== now.get(original),
  );
  if (added.length + removed.length + changed.length === 0) return;
  try {
    onSourceChange?.({ source, added, removed, changed });
  } catch {
    // What a listener throws is its own affair.
  }
}
