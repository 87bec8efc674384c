import { PortcullisError } from "../../base/index.ts";
import type { ReadServer } from "./mcp-options.ts";
import type { Session } from "./session.ts";
import { type ListReader, type McpPolicies, type ToolList, ToolListBuilder } from "./make-tools.ts";

const NO_RESOURCES = "The server says that it has no resources, so no tool reads them: leave resources out.";

/** The tools of a source, by the latest list of its server. Pinned tools keep the definitions of the first list. */
export class SourceTools {
  readonly #server: ReadServer;
  readonly #policies: McpPolicies | undefined;
  readonly #source: Pick<ListReader, "call" | "answeredBy">;
  #list: ToolList = {
    tools: [],
    unassigned: [],
    problems: [],
    listed: new Map(),
    originalOf: new Map(),
    made: new Map(),
  };
  /** Why the list is not whole, or could not be read again. */
  problem: string | undefined;
  #pinned: ReadonlyMap<string, string> | undefined;
  #readings = 0;

  constructor(server: ReadServer, policies: McpPolicies | undefined, source: Pick<ListReader, "call" | "answeredBy">) {
    this.#server = server;
    this.#policies = policies;
    this.#source = source;
  }

  get list(): ToolList {
    return this.#list;
  }

  get problems(): readonly string[] {
    return [...(this.problem === undefined ? [] : [this.problem]), ...this.#list.problems];
  }

  async read(session: Session, signal: AbortSignal): Promise<void> {
    this.#readings += 1;
    const reading = this.#readings;
    const { name: source, timeoutMs, pin, resources } = this.#server;
    const [policies, known] = [this.#policies, this.#list.made];
    const builder = new ToolListBuilder({ source, policies, timeoutMs, resources, known, ...this.#source });
    const problem = await session.listTools(signal, (entries) => builder.add(entries));
    if (resources && session.hasResources) builder.addReader();
    const list = await builder.finish();
    if (reading !== this.#readings) return;
    const isFirst = this.#pinned === undefined;
    this.#pinned ??= new Map([...list.listed].map(([original, { digest }]) => [original, digest]));
    const before = this.#list;
    this.#list = pin ? withoutChanged(list, this.#pinned) : list;
    this.problem = resources && !session.hasResources ? (problem ?? NO_RESOURCES) : problem;
    if (!isFirst) this.#tellChange(before, list);
  }

  /** Refuses a call of a tool whose definition differs from the first list. */
  refuseChanged(original: string, name: string, digest: string): void {
    if (!this.#server.pin) return;
    const now = this.#list.listed.get(original)?.digest;
    if (now === digest && this.#pinned?.get(original) === digest) return;
    throw new PortcullisError(
      "source_unavailable",
      `The definition of ${name} has changed since it was pinned, so it is refused. Continue without it.`,
    );
  }

  #tellChange(before: ToolList, now: ToolList): void {
    const added = [...now.listed.keys()].filter((original) => !before.listed.has(original));
    const removed = [...before.listed.keys()].filter((original) => !now.listed.has(original));
    const changed = [...now.listed].flatMap(([original, { digest }]) => {
      const old = before.listed.get(original);
      return old && old.digest !== digest ? [original] : [];
    });
    if (added.length + removed.length + changed.length === 0) return;
    try {
      this.#server.onSourceChange?.({ source: this.#server.name, added, removed, changed });
    } catch {
      // What a listener throws is its own affair.
    }
  }
}

/** The list without the tools that differ from their pinned definitions, or have none. These tools become problems. */
function withoutChanged(list: ToolList, pinned: ReadonlyMap<string, string>): ToolList {
  const isChanged = (original: string) => pinned.get(original) !== list.listed.get(original)?.digest;
  const changed = [...list.listed.keys()].filter(isChanged);
  if (changed.length === 0) return list;
  const kept = new Set([...list.listed.keys()].filter((original) => !isChanged(original)));
  return {
    ...list,
    tools: list.tools.filter((tool) => kept.has(list.originalOf.get(tool.name) ?? "")),
    unassigned: list.unassigned.filter(({ original }) => kept.has(original)),
    problems: [
      ...list.problems,
      ...changed.map(
        (original) => `${JSON.stringify(original)} is left out: it is new or has changed since the tools were pinned.`,
      ),
    ],
  };
}
