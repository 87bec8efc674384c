import { PortcullisError, type Share, type SlicedWork } from "../base/index.ts";
import type { ProgramLanguage } from "../tools/declarations/declarations.ts";
import type { SearchInput } from "../tools/search/search-tool.ts";
import type { FoundTool, ToolSearch } from "../tools/search/tool-search.ts";
import { shownDigest } from "../tools/tool-digest.ts";
import type { CallContext, Caller, Tool } from "../tools/tool.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import type { OpenCalls } from "./open-calls.ts";
import type { WorkScope } from "./work-scope.ts";

export interface SearchParts {
  readonly search: ToolSearch;
  readonly tools: ToolSet;
  readonly calls: OpenCalls;
  readonly share: Share;
  readonly visibleTo: readonly Caller[];
  /** Tools that a model may call directly and finds by a search. */
  readonly deferred?: readonly Tool[];
  /** JavaScript by default. */
  readonly language?: ProgramLanguage;
  readonly scope: WorkScope;
}

/**
 * Searches among the tools of a session. A model that also writes programs searches only the tools for programs: it is
 * told of the others. The operator is told if the search could not do all that it was set up for.
 */
export async function searchSession(
  { search, tools, calls, share, visibleTo, deferred = [], language = "javascript", scope }: SearchParts,
  { query, limit }: SearchInput,
  { callId, caller: by, tenant }: CallContext,
): Promise<readonly FoundTool[]> {
  const forPrograms = visibleTo.includes("programmatic");
  const ofPrograms = forPrograms ? tools.visibleTo(["programmatic"]) : [];
  const among = by === "direct" && deferred.length > 0 ? [...new Set([...ofPrograms, ...deferred])] : undefined;
  const caller = forPrograms || among ? "programmatic" : "direct";
  const call = calls.get(callId);
  const onError = (error: unknown) => {
    // The error of a host's `embed` without its cause, which may quote what was searched for: no log holds that.
    if (call) call.noticed = PortcullisError.is(error) ? new PortcullisError(error.code, error.message) : error;
  };
  // A tool as the tenant is shown it.
  const shown = scope.observed?.shown;
  const work = <Value>(slices: SlicedWork<Value>) => share.lane.work(slices);
  const found = await search.find({ query, limit, among, caller, tenant, language, shown, work, onError });
  if (call) call.handling.beside = { shown: found.map(shownDigest) };
  return found;
}
