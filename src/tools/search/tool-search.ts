import { ignore, optionError, wholly } from "../../base/index.ts";
import { type ProgramLanguage, toolStub } from "../declarations/declarations.ts";
import { commentLine } from "../declarations/one-line.ts";
import type { Caller, Tool } from "../tool.ts";
import { lazySchema } from "../schema.ts";
import { outputSchemaOf } from "../tool-schemas.ts";
import { areSameTools, type ToolSet } from "../tool-set.ts";
import { FOUND_DEFAULT } from "./search-tool.ts";
import { ToolIndex } from "./tool-index.ts";
import { type Embed, vectorsBy } from "./tool-vectors.ts";

/** Who searches. */
export interface Searcher {
  readonly tenant: string;
  /** The caller that would call what is found. */
  readonly caller: Caller;
}

/** Whether a tool may be found. It is asked at each search, about each tool that this caller may call. */
export type SearchFilter = (tool: Tool, searcher: Searcher) => boolean;

export interface SearchSettings {
  readonly embed?: Embed | undefined;
  readonly filter?: SearchFilter | undefined;
  /** Maximum tokens of the declaration of `run_program` with all its stubs. Above it, models are told to search. */
  readonly stubTokens?: number | undefined;
}

const STUB_TOKENS = 1500;

export interface SearchRequest extends Searcher {
  readonly query: string;
  readonly limit?: number | undefined;
  /** Tools to search among, in place of those that the caller may call. A found tool that it may not call has no stub: the model calls it directly. */
  readonly among?: readonly Tool[] | undefined;
  readonly language: ProgramLanguage;
  /** A tool as the searcher is shown it, with what its results were like; as it is by default. */
  readonly shown?: ((tool: Tool) => Tool) | undefined;
  /** Runs work that yields between slices; at once by default. */
  readonly work?: Work;
  /** Called with the error of `embed`. The search goes on by words. */
  readonly onError?: (error: unknown) => void;
}

type Work = <Value>(slices: Generator<undefined, Value>) => Value | Promise<Value>;

/** A tool that a search has found. */
export interface FoundTool {
  readonly name: string;
  /** Its declaration: how a program calls it, with types, on one line. */
  readonly stub: string;
  readonly description: string;
}

/** Maximum characters of a description. */
const DESCRIPTION_LENGTH = 240;
/** Indexes that are kept, each for the tools that some caller of some tenant may find. */
const INDEXES_KEPT = 8;
/** Tools from each of two rankings that are joined into one. */
const RANKED = 50;
/** A tool at place n of a ranking counts 1 / (RANK_BASE + n). */
const RANK_BASE = 60;
/** Tools that the filter is asked about before the thread is released. */
const FILTERED_PER_SLICE = 100;

/** Finds tools of a set. The index that is searched for a caller has no tool that it may not call or that the filter refuses. */
export class ToolSearch {
  readonly tools: ToolSet;
  readonly settings: SearchSettings;
  readonly #visible = new Map<Caller, readonly Tool[]>();
  readonly #indexes: { readonly tools: readonly Tool[]; readonly index: Promise<ToolIndex> }[] = [];

  constructor(tools: ToolSet, settings: SearchSettings = {}) {
    this.tools = tools;
    this.settings = settings;
  }

  get stubTokens(): number {
    return this.settings.stubTokens ?? STUB_TOKENS;
  }

  visibleTo(searcher: Searcher): readonly Tool[] {
    return wholly(this.#filtered(searcher));
  }

  async find(request: SearchRequest): Promise<readonly FoundTool[]> {
    const { query, limit = FOUND_DEFAULT, language, work = wholly, onError = ignore } = request;
    const { among, caller, shown } = request;
    const tools = await work(this.#filtered(request, among));
    const index = await this.#indexOf(tools, work);
    const { embed } = this.settings;
    // Searches that are made at once take turns with other work.
    const byWords = await work(index.search(query, embed ? RANKED : limit));
    const byMeaning = embed && (await vectorsBy(embed)(query, tools, RANKED).catch(onError));
    const found = (byMeaning ? joined([byWords, byMeaning]) : byWords).slice(0, limit);
    const stubOf = (tool: Tool) => {
      if (among && !tool.allowedCallers.includes(caller)) return CALLED_DIRECTLY;
      const seen = shown ? shown(tool) : tool;
      return toolStub(caller === "direct" ? gatheredForm(seen) : seen, language);
    };
    return work(describeAll(found, stubOf));
  }

  *#filtered(searcher: Searcher, among?: readonly Tool[]): Generator<undefined, readonly Tool[]> {
    const { caller, tenant } = searcher;
    const { filter } = this.settings;
    const visible = among ?? this.#visible.get(caller) ?? this.tools.visibleTo([caller]);
    if (!among) this.#visible.set(caller, visible);
    if (!filter) return visible;
    const kept: Tool[] = [];
    for (const [place, tool] of visible.entries()) {
      const may: unknown = filter(tool, { caller: tool.allowedCallers.includes(caller) ? caller : "direct", tenant });
      // A promise would let every tool be found.
      if (typeof may !== "boolean")
        throw optionError("search({ filter })", "a function that returns true or false", may);
      if (may) kept.push(tool);
      if (place % FILTERED_PER_SLICE === FILTERED_PER_SLICE - 1) yield;
    }
    return kept;
  }

  async #indexOf(tools: readonly Tool[], work: Work): Promise<ToolIndex> {
    const hit = this.#indexes.find((one) => areSameTools(one.tools, tools));
    if (hit) return hit.index;
    // Kept at once: searches that begin while the index is made wait for it.
    const index = Promise.resolve(work(ToolIndex.of(tools)));
    const kept = { tools, index };
    this.#indexes.unshift(kept);
    this.#indexes.splice(INDEXES_KEPT);
    index.catch(() => {
      const place = this.#indexes.indexOf(kept);
      if (place >= 0) this.#indexes.splice(place, 1);
    });
    return index;
  }
}

/** One ranking of several, by reciprocal places. */
function joined(rankings: readonly (readonly Tool[])[]): readonly Tool[] {
  const scores = new Map<Tool, number>();
  for (const ranking of rankings)
    for (const [place, tool] of ranking.entries())
      scores.set(tool, (scores.get(tool) ?? 0) + 1 / (RANK_BASE + place + 1));
  return [...scores].toSorted(([, a], [, b]) => b - a).map(([tool]) => tool);
}

const forms = new WeakMap<Tool, Tool>();

/** The tool as a caller sees it that reads no streams: the items are its result, in one array. Any other tool is as it is. */
function gatheredForm(tool: Tool): Tool {
  const { stream, ...own } = tool;
  if (!stream) return tool;
  // Kept, because stubs are kept by tool.
  const form = forms.get(tool) ?? {
    ...own,
    outputSchema: lazySchema(() => outputSchemaOf(tool) ?? {}, { checks: false }),
  };
  forms.set(tool, form);
  return form;
}

/** In place of a stub, for a tool that the model calls itself. */
const CALLED_DIRECTLY = "(called directly, not from a program)";

function* describeAll(
  tools: readonly Tool[],
  stubOf: (tool: Tool) => string,
): Generator<undefined, readonly FoundTool[]> {
  const found: FoundTool[] = [];
  for (const tool of tools) {
    const description = commentLine(tool.description, DESCRIPTION_LENGTH);
    found.push({ name: tool.name, stub: stubOf(tool), description });
    yield;
  }
  return found;
}
