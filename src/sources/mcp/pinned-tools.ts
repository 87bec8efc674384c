import { PortcullisError } from "../../base/index.ts";
import type { ReadServer } from "./mcp-options.ts";
import type { Session } from "./session.ts";
import { type ListReader, type McpPolicies, type ToolList, ToolListBuilder } from "./make-tools.ts";

const NO_RESOURCES = "The server says that it has no resources, so no tool reads them: leave resources out.";

const NOT_PINNED = "is left out: it is new or has changed since the tools were pinned.";

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

    problems: () =>
      problemsIn(
        problem,
        list,
        [...digests].filter((one) => !isPinned(...one)),
      ),

    async read(session: Session, signal: AbortSignal): Promise<void> {
      readings += 1;
      const reading = readings;
      const { name, timeoutMs, resources } = server;
      const reader = { source: name, policies, timeoutMs, resources, lastEntries: list.entries, ...source };
      const [now, why] = await readList(reader, session, signal);
      if (reading !== readings) return;
      const before = digests;
      list = now;
      digests = new Map(list.entries.map(({ listed: { original, digest } }) => [original, digest]));
      problem = why;
      if (pinned) tellChange(server, before, digests);
      pinned ??= digests;
    },

    fail: (why: string) => void (problem = why),

    /** Refuses a call of a tool whose definition differs from the first list. */
    refuseChanged(original: string, name: string, digest: string): void {
      if (!server.pin || (digests.get(original) === digest && isPinned(original, digest))) return;
      throw hasChanged(name);
    },
  };
}

/** The tools of a server, and why their list is not whole. */
async function readList(reader: ListReader, session: Session, signal: AbortSignal) {
  const builder = new ToolListBuilder(reader);
  const why = await session.listTools(signal, (entries) => builder.add(entries));
  const lacks = reader.resources && !session.hasResources;
  if (reader.resources && !lacks) builder.addReader();
  return [await builder.finish(), lacks ? (why ?? NO_RESOURCES) : why] as const;
}

function problemsIn(
  problem: string | undefined,
  { problems }: ToolList,
  changed: readonly (readonly [string, string])[],
) {
  const pinProblems = changed.map(([original]) => `${JSON.stringify(original)} ${NOT_PINNED}`);
  return [...(problem === undefined ? [] : [problem]), ...problems, ...pinProblems];
}

function hasChanged(name: string): PortcullisError {
  return new PortcullisError(
    "source_unavailable",
    `The definition of ${name} has changed since it was pinned, so it is refused. Continue without it.`,
  );
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
