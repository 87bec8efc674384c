import { after, cancel, monotonic, type Timer } from "../../clock.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Lane } from "../../values/slice-scheduler.ts";
import { readUpTo } from "../../values/json/value-head.ts";
import type { Tool } from "../tool.ts";
import { toolDigest } from "../tool-digest.ts";
import { LOAD_ARTIFACT, SAVE_ARTIFACT, SEARCH_TOOLS } from "../tool-name.ts";
import { differences } from "./differences.ts";
import { addShapes, fieldsIn, NOTHING, type Shape, shapeOf } from "./shape.ts";
import { namesIn, withoutNames } from "./shape-names.ts";
import { schemaOfShape } from "./shape-schema.ts";
import { readShape, textOfShape } from "./stored-shape.ts";

export interface ObservedParts {
  /** Where shapes are kept; a journal without `keepShapes` keeps none. */
  readonly store: Pick<Journal, "shapes" | "keepShapes">;
  /** Which of these names must not leave; undefined if all may. */
  readonly hidden: ((names: readonly string[]) => Promise<ReadonlySet<string>>) | undefined;
  /** Called if shapes cannot be kept or read. */
  readonly onError: (error: unknown) => void;
}

/** What is known of the results of one tool. */
interface Entry {
  readonly name: string;
  /** All that is known. */
  shape: Shape;
  /** The part of it that is not kept yet. */
  unsaved: Shape;
  fields: number;
  /** Large results that were passed over since one was read. */
  passedOver: number;
  /** A tool as it is shown by now, and what it was made of. */
  shown?: { readonly of: Tool; readonly as: Tool } | undefined;
}

/** Characters of a result that are looked at. */
const HEAD_LENGTH = 64 * 1024;
/** Of results that are longer, one of so many is read, once a few results of the tool are known. */
const [LARGE_FIRST, LARGE_OF] = [5, 100];
/** Tools of one tenant. */
const TOOLS = 1000;
/** How long news waits for more of it before it is kept, in milliseconds. */
const SAVE_MS = 1000;
/** After that time what other processes have kept is read again, in milliseconds. */
const READ_AGAIN_MS = 60_000;
/** Names that are known to be clean, about. */
const CLEAN = 10_000;
/** Results after which one that differs is worth a note. */
const SETTLED = 20;

/** The programs' own tools give what the programs have kept. */
const OWN: ReadonlySet<string> = new Set([LOAD_ARTIFACT, SAVE_ARTIFACT, SEARCH_TOOLS]);

/**
 * What the results of one tenant's tools were like, by the tools' definitions. It learns from answers, and gives tools as
 * they are shown. Nothing of it is seen by another tenant.
 */
export class TenantResults {
  readonly tenant: string;
  readonly #parts: ObservedParts;
  readonly #entries = new Map<string, Entry>();
  /** Names that may leave. */
  readonly #clean = new Set<string>();
  #fields = 0;
  #readAt = Number.NEGATIVE_INFINITY;
  /** The first reading. */
  #first: Promise<void> | undefined;
  /** Reads and writes follow each other. */
  #last: Promise<void> = Promise.resolve();
  #saving: Timer | undefined;
  /** Whether a large result is being read. */
  #isReading = false;

  constructor(tenant: string, parts: ObservedParts) {
    this.tenant = tenant;
    this.#parts = parts;
  }

  /** Number of fields that it holds in memory. */
  get fields(): number {
    return this.#fields;
  }

  get isSaved(): boolean {
    return this.#saving === undefined;
  }

  /** Whether nothing of what is kept was read yet, or others may have kept more since. */
  get isBehind(): boolean {
    return this.#parts.store.shapes !== undefined && monotonic() - this.#readAt >= READ_AGAIN_MS;
  }

  /** Resolves once what is kept is known. What others have kept since is read behind. */
  async ready(): Promise<void> {
    if (!this.isBehind) return this.#first;
    const isFirst = this.#readAt === Number.NEGATIVE_INFINITY;
    this.#readAt = monotonic();
    const read = this.#inTurn(() => this.#read());
    if (isFirst) await (this.#first = read);
  }

  /**
   * Learns from the answer of a call, given as JSON text. Returns how it differs from those before, if they were many and
   * alike; undefined as well if it is looked at later, because it is large or its names are searched first.
   */
  note(tool: Tool, text: string, lane: Lane): readonly string[] | undefined {
    if (tool.output !== undefined || OWN.has(tool.name)) return undefined;
    if (text.length <= HEAD_LENGTH) {
      try {
        return this.#learn(tool, shapeOf(JSON.parse(text)));
      } catch (error) {
        // The call has its answer, whatever is learned from it.
        this.#parts.onError(error);
        return undefined;
      }
    }
    if (this.#isWorthReading(tool)) {
      this.#isReading = true;
      void readUpTo(text, HEAD_LENGTH, lane)
        .then(
          (head) => head && this.#learn(tool, shapeOf(head.value, head.counts)),
          // The session has ended, and its lane with it.
          () => {},
        )
        .finally(() => (this.#isReading = false));
    }
    return undefined;
  }

  /** To find the end of a large result takes time, and its text is held meanwhile: of many, few are read, one after the other. */
  #isWorthReading(tool: Tool): boolean {
    if (this.#isReading) return false;
    const entry = this.#entries.get(toolDigest(tool));
    if (!entry || entry.shape.seen < LARGE_FIRST) return true;
    entry.passedOver = (entry.passedOver + 1) % LARGE_OF;
    return entry.passedOver === 0;
  }

  /** The tool as it is shown: with what its results were like, if it does not say that itself. */
  readonly shown = (tool: Tool): Tool => {
    const entry = tool.output === undefined ? this.#entries.get(toolDigest(tool)) : undefined;
    if (!entry) return tool;
    if (entry.shown?.of !== tool) {
      const observed = { schema: schemaOfShape(entry.shape), results: entry.shape.seen };
      entry.shown = { of: tool, as: { ...tool, observed } };
    }
    return entry.shown.as;
  };

  /** Keeps what is not kept yet. */
  async flush(): Promise<void> {
    cancel(this.#saving);
    this.#saving = undefined;
    await this.#inTurn(() => this.#save());
  }

  #learn(tool: Tool, shape: Shape): readonly string[] | undefined {
    const { hidden } = this.#parts;
    const unknown = hidden ? namesIn(shape).filter((name) => !this.#clean.has(name)) : [];
    if (!hidden || unknown.length === 0) return this.#add(tool, shape);
    void hidden(unknown).then(
      (found) => {
        if (this.#clean.size > CLEAN) this.#clean.clear();
        for (const name of unknown) if (!found.has(name)) this.#clean.add(name);
        this.#add(tool, withoutNames(shape, found));
      },
      (error: unknown) => this.#parts.onError(error),
    );
    return undefined;
  }

  #add(tool: Tool, shape: Shape): readonly string[] | undefined {
    const digest = toolDigest(tool);
    const entry = this.#entryOf(digest, tool.name);
    if (!entry) return undefined;
    const news = entry.shape.seen >= SETTLED ? differences(entry.shape, shape) : [];
    this.#set(entry, addShapes(entry.shape, shape), addShapes(entry.unsaved, shape));
    if (this.#parts.store.keepShapes && this.#saving === undefined) {
      this.#saving = after(SAVE_MS, () => void this.flush());
      this.#saving.unref();
    }
    return news.length === 0 ? undefined : news;
  }

  /** The entry of a tool, the last in order. The oldest that is kept makes room; undefined if there is none. */
  #entryOf(digest: string, name: string): Entry | undefined {
    const known = this.#entries.get(digest);
    if (!known && this.#entries.size >= TOOLS) {
      const oldest = this.#entries
        .entries()
        .find(([, { unsaved }]) => unsaved.seen === 0 || !this.#parts.store.keepShapes);
      if (!oldest) return undefined;
      this.#entries.delete(oldest[0]);
      this.#fields -= oldest[1].fields;
    }
    const entry = known ?? { name, shape: NOTHING, unsaved: NOTHING, fields: 0, passedOver: 0 };
    this.#entries.delete(digest);
    this.#entries.set(digest, entry);
    return entry;
  }

  #set(entry: Entry, shape: Shape, unsaved: Shape): void {
    const fields = fieldsIn(shape);
    this.#fields += fields - entry.fields;
    Object.assign(entry, { shape, unsaved, fields, shown: undefined });
  }

  async #read(): Promise<void> {
    const kept = (await this.#parts.store.shapes?.(this.tenant)) ?? [];
    for (const { name, digest, shape: text } of kept.slice(-TOOLS)) {
      const shape = readShape(text);
      const entry = shape && this.#entryOf(digest, name);
      if (entry) this.#set(entry, addShapes(shape, entry.unsaved), entry.unsaved);
    }
  }

  async #save(): Promise<void> {
    const { store } = this.#parts;
    const changed = new Map([...this.#entries].filter(([, { unsaved }]) => unsaved.seen > 0));
    if (!store.keepShapes || changed.size === 0) return;
    const news = new Map([...changed].map(([digest, { unsaved }]) => [digest, unsaved]));
    for (const entry of changed.values()) entry.unsaved = NOTHING;
    const sums = new Map<string, Shape>();
    const tools = [...changed].map(([digest, { name }]) => ({ name, digest }));
    try {
      await store.keepShapes(this.tenant, tools, (digest, kept) => {
        const before = (kept === undefined ? undefined : readShape(kept)) ?? NOTHING;
        const sum = addShapes(before, news.get(digest) ?? NOTHING);
        sums.set(digest, sum);
        return textOfShape(sum);
      });
    } catch (error) {
      for (const [digest, entry] of changed) entry.unsaved = addShapes(news.get(digest) ?? NOTHING, entry.unsaved);
      throw error;
    }
    // What was learned meanwhile is kept the next time.
    for (const [digest, entry] of changed)
      this.#set(entry, addShapes(sums.get(digest) ?? NOTHING, entry.unsaved), entry.unsaved);
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(work).catch((error: unknown) => this.#parts.onError(error));
    return this.#last;
  }
}
