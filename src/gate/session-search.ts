import { PortcullisError, type Share, type SlicedWork } from "../base/index.ts";
import type { ProgramLanguage } from "../tools/declarations/declarations.ts";
import type { SearchInput } from "../tools/search/search-tool.ts";
import type { FoundTool, ToolSearch } from "../tools/search/tool-search.ts";
import { shownDigest } from "../tools/tool-digest.ts";
import type { CallContext, Caller, Tool } from "../tools/tool.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import type { OpenCalls } from "./open-calls.ts";

export interface SearchParts {
  readonly search: ToolSearch;
  readonly tools: ToolSet;
  readonly calls: OpenCalls;
  readonly share: Share;
  readonly visibleTo: readonly Caller[];
  /** Tools that a model may call directly and finds by a search. */
  readonly deferred: readonly Tool[];
  readonly language: ProgramLanguage;
  /** A tool as the tenant is shown it. */
  readonly shown: ((tool: Tool) => Tool) | undefined;
}

/**
 * Searches among the tools of a session. A model that also writes programs searches only the tools for programs: it is
 * told of the others. The operator is told if the search could not do all that it was set up for.
 */
export class SessionSearch {
  readonly #parts: SearchParts;
  #found: readonly Tool[] | undefined;

  constructor(parts: SearchParts) {
    this.#parts = parts;
  }

  async find(
    { query, limit }: SearchInput,
    { callId, caller: by, tenant }: CallContext,
  ): Promise<readonly FoundTool[]> {
    const { search, calls, share, visibleTo, deferred, language, shown } = this.#parts;
    const forPrograms = visibleTo.includes("programmatic");
    const among = by === "direct" && deferred.length > 0 ? this.#findable(forPrograms) : undefined;
    const caller = forPrograms || among ? "programmatic" : "direct";
    const call = calls.get(callId);
    const onError = (error: unknown) => {
      if (call) call.noticed = withoutWords(error);
    };
    const work = <Value>(slices: SlicedWork<Value>) => share.lane.work(slices);
    const found = await search.find({ query, limit, among, caller, tenant, language, shown, work, onError });
    if (call) call.handling.beside = { shown: found.map(shownDigest) };
    return found;
  }

  #findable(forPrograms: boolean): readonly Tool[] {
    const { tools, deferred } = this.#parts;
    this.#found ??= [...new Set([...(forPrograms ? tools.visibleTo(["programmatic"]) : []), ...deferred])];
    return this.#found;
  }
}

/** The error of a host's `embed` without its cause, which may quote what was searched for: no log holds that. */
function withoutWords(error: unknown): unknown {
  return PortcullisError.is(error) ? new PortcullisError(error.code, error.message) : error;
}
