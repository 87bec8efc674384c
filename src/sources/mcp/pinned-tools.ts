import { PortcullisError } from "../../base/index.ts";
import type { ReadServer } from "./mcp-options.ts";
import type { Session } from "./session.ts";
import { type ListEntry, type ListReader, type McpPolicies, type ToolList, ToolListBuilder } from "./make-tools.ts";

const NO_RESOURCES = "The server says that it has no resources, so no tool reads them: leave resources out.";

type Digests = ReadonlyMap<string, string>;

/** The tools of a source, by the latest list of its server. Pinned tools keep the definitions of the first list. */
export class SourceTools {
  readonly #server: ReadServer;
  readonly #policies: McpPolicies | undefined;
  readonly #source: Pick<ListReader, "call" | "answeredBy">;
  #list: ToolList = { entries: [], problems: [] };
  #digests: Digests = new Map();
  /** Why the list is not whole, or could not be read again. */
  problem: string | undefined;
  #pinned: Digests | undefined;
  #readings = 0;

  constructor(server: ReadServer, policies: McpPolicies | undefined, source: Pick<ListReader, "call" | "answeredBy">) {
    this.#server = server;
    this.#policies = policies;
    this.#source = source;
  }

  get all(): readonly ListEntry[] {
    return this.#list.entries;
  }

  /** Without what differs from its pinned definition, or has none. */
  get entries(): readonly ListEntry[] {
    return this.all.filter(({ listed: { original, digest } }) => this.#isPinned(original, digest));
  }

  get problems(): readonly string[] {
    const changed = [...this.#digests].filter((one) => !this.#isPinned(...one));
    return [
      ...(this.problem === undefined ? [] : [this.problem]),
      ...this.#list.problems,
      ...changed.map(
        ([original]) =>
          `${JSON.stringify(original)} is left out: it is new or has changed since the tools were pinned.`,
      ),
    ];
  }

  #isPinned(original: string, digest: string): boolean {
    return !this.#server.pin || this.#pinned?.get(original) === digest;
  }

  async read(session: Session, signal: AbortSignal): Promise<void> {
    this.#readings += 1;
    const reading = this.#readings;
    const { name: source, timeoutMs, resources } = this.#server;
    const [policies, known] = [this.#policies, this.all];
    const builder = new ToolListBuilder({ source, policies, timeoutMs, resources, known, ...this.#source });
    const problem = await session.listTools(signal, (entries) => builder.add(entries));
    if (resources && session.hasResources) builder.addReader();
    const list = await builder.finish();
    if (reading !== this.#readings) return;
    const before = this.#digests;
    this.#list = list;
    this.#digests = new Map(list.entries.map(({ listed: { original, digest } }) => [original, digest]));
    this.problem = resources && !session.hasResources ? (problem ?? NO_RESOURCES) : problem;
    if (this.#pinned) this.#tellChange(before, this.#digests);
    this.#pinned ??= this.#digests;
  }

  /** Refuses a call of a tool whose definition differs from the first list. */
  refuseChanged(original: string, name: string, digest: string): void {
    if (!this.#server.pin || (this.#digests.get(original) === digest && this.#isPinned(original, digest))) return;
    throw new PortcullisError(
      "source_unavailable",
      `The definition of ${name} has changed since it was pinned, so it is refused. Continue without it.`,
    );
  }

  #tellChange(before: Digests, now: Digests): void {
    const added = [...now.keys()].filter((original) => !before.has(original));
    const removed = [...before.keys()].filter((original) => !now.has(original));
    const changed = [...now.keys()].filter(
      (original) => before.has(original) && before.get(original) !== now.get(original),
    );
    if (added.length + removed.length + changed.length === 0) return;
    try {
      this.#server.onSourceChange?.({ source: this.#server.name, added, removed, changed });
    } catch {
      // What a listener throws is its own affair.
    }
  }
}
