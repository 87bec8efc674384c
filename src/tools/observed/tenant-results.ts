import { type Lane, readUpTo, sumOf } from "../../base/index.ts";
import type { Tool } from "../tool.ts";
import { toolDigest } from "../tool-digest.ts";
import { jsonSchemaOf } from "../tool-schemas.ts";
import { LOAD_ARTIFACT, SAVE_ARTIFACT, SEARCH_TOOLS } from "../tool-name.ts";
import { addShapes, fieldsIn, namesIn, NOTHING, type Shape, shapeOf, withoutNames } from "./shape.ts";
import { schemaOfShape, withDigits } from "./shape-schema.ts";

/** Which of these names must not leave. Never rejects. */
export type HiddenNames = (names: readonly string[]) => Promise<ReadonlySet<string>>;

/** What is known of the results of one tool. */
interface Entry {
  shape: Shape;
  fields: number;
  /** A tool as it is shown by now, and what it was made of. */
  shown?: { readonly of: Tool; readonly as: Tool } | undefined;
}

/** What a declared result is learned from: a text that may stand for a number. */
const DIGITS = /"-?[1-9]\d{15}/;
/** Characters of a result that are looked at. */
const HEAD_LENGTH = 64 * 1024;
/** Results that are longer are read until so many results of the tool are known. */
const LARGE_FIRST = 5;
/** Tools of one tenant, and fields of all of them: those that gave a result longest ago make room. */
const [TOOLS, FIELDS] = [1000, 20_000];
/** Names that are known to be clean, about. */
const CLEAN = 1000;

/** The programs' own tools give what the programs have kept. */
const OWN: ReadonlySet<string> = new Set([LOAD_ARTIFACT, SAVE_ARTIFACT, SEARCH_TOOLS]);

/** What is known of the tools of one tenant, within its bounds. */
function knownTools() {
  const entries = new Map<string, Entry>();
  let fields = 0;
  return {
    fields: () => fields,
    of: (tool: Tool) => entries.get(toolDigest(tool)),
    add(tool: Tool, more: Shape): void {
      const digest = toolDigest(tool);
      const before = entries.get(digest);
      const shape = addShapes(before?.shape ?? NOTHING, more);
      const entry = { shape, fields: fieldsIn(shape) };
      entries.delete(digest);
      entries.set(digest, entry);
      fields += entry.fields - (before?.fields ?? 0);
      for (const [oldest, victim] of entries) {
        if (entries.size <= TOOLS && fields <= FIELDS) return;
        entries.delete(oldest);
        fields -= victim.fields;
      }
    },
  };
}

/**
 * What the results of one tenant's tools were like, by the tools' definitions. It learns from answers, and gives tools as
 * they are shown. Nothing of it is seen by another tenant.
 */
function tenantResults(hidden: HiddenNames | undefined) {
  const store = knownTools();
  /** Names that may leave. */
  const clean = new Set<string>();
  /** Whether a large result is being read. */
  let isReading = false;

  /** To find the end of a large result takes time, and its text is held meanwhile: few are read, one after the other. */
  const isWorthReading = (tool: Tool) => !isReading && (store.of(tool)?.shape.seen ?? 0) < LARGE_FIRST;

  const learn = (tool: Tool, shape: Shape): void => {
    const unknown = [...new Set(hidden ? namesIn(shape) : [])].filter((name) => !clean.has(name));
    if (!hidden || unknown.length === 0) return store.add(tool, shape);
    void hidden(unknown).then((found) => {
      if (clean.size > CLEAN) clean.clear();
      for (const name of unknown) if (!found.has(name)) clean.add(name);
      store.add(tool, withoutNames(shape, found));
    });
  };

  return {
    fields: store.fields,

    /** Learns from the answer of a call, given as JSON text. A large one, and one whose names are searched first, is learned from later. */
    note(tool: Tool, text: string, lane: Lane): void {
      if (OWN.has(tool.name) || (tool.outputSchema && !DIGITS.test(text.slice(0, HEAD_LENGTH)))) return;
      if (text.length <= HEAD_LENGTH) return learn(tool, shapeOf(JSON.parse(text)));
      if (!isWorthReading(tool)) return;
      isReading = true;
      void shapeOfHead(text, lane)
        .then((shape) => shape && learn(tool, shape))
        .finally(() => (isReading = false));
    },

    /** The tool as it is shown: with what its results were like, if it does not say that itself. */
    shown: (tool: Tool): Tool => {
      const entry = store.of(tool);
      if (!entry) return tool;
      if (entry.shown?.of !== tool) {
        const { shape } = entry;
        const declared = tool.outputSchema && jsonSchemaOf(tool.name, "output", tool.outputSchema);
        const observed = { schema: declared ? withDigits(declared, shape) : schemaOfShape(shape), results: shape.seen };
        entry.shown = { of: tool, as: { ...tool, observed } };
      }
      return entry.shown.as;
    },
  };
}

/** Undefined once the session has ended, and its lane with it. */
async function shapeOfHead(text: string, lane: Lane): Promise<Shape | undefined> {
  const head = await readUpTo(text, HEAD_LENGTH, lane).catch(() => undefined);
  return head && shapeOf(head.value, head.counts);
}

export type TenantResults = ReturnType<typeof tenantResults>;

/** Tenants, and fields of all their shapes, that are held. */
const [TENANTS, ALL_FIELDS] = [500, 200_000];

/**
 * What results of tools were like, tenant by tenant, in memory: those that were asked for longest ago make room. `hidden` says
 * which names must not leave; undefined if all may. Returns what gives a tenant's.
 */
export function observedResults(hidden: HiddenNames | undefined): (tenant: string) => TenantResults {
  const tenants = new Map<string, TenantResults>();
  const makeRoom = (wanted: TenantResults): void => {
    let fields = sumOf(tenants.values(), (one) => one.fields());
    for (const [tenant, one] of tenants) {
      if (one === wanted || (tenants.size <= TENANTS && fields <= ALL_FIELDS)) return;
      tenants.delete(tenant);
      fields -= one.fields();
    }
  };
  return (tenant) => {
    const results = tenants.get(tenant) ?? tenantResults(hidden);
    tenants.delete(tenant);
    tenants.set(tenant, results);
    makeRoom(results);
    return results;
  };
}

export type ObservedResults = ReturnType<typeof observedResults>;
