import type { CompiledSchema, SchemaNode } from "./compile-schema.ts";
import { FieldReader, type Reading } from "./field-reader.ts";
import { SchemaLookups } from "./schema-lookups.ts";
import { Steps } from "./steps.ts";

/** Unknown fields that are described; the rest are counted. */
const FIELDS_LISTED = 5;

export interface UnknownField {
  /** Keys from the root to the field. */
  readonly path: readonly (string | number)[];
  /** Names of fields that the schema knows in this place. */
  readonly known: readonly string[];
}

export interface FieldsRead {
  readonly unknown: readonly UnknownField[];
  /** Number of all unknown fields, listed or not. */
  readonly total: number;
  /** Whether a field that is null was removed. */
  readonly dropped: boolean;
}

interface Place {
  readonly key: string | number;
  readonly outer: Place | undefined;
}

/** Reads the fields of inputs by what the input's JSON Schema says about them, without checking values. */
export class InputFields {
  readonly #root: SchemaNode;
  readonly #lookups = new SchemaLookups();

  constructor({ root }: CompiledSchema) {
    this.#root = root;
  }

  /**
   * Finds the fields that the schema does not know and removes them from the value. Also removes a field that is null
   * if the schema lets it be absent and does not let it be null. Takes a step per field and applicable part of the
   * schema. Throws `StepsSpent` if that exceeds `maxSteps`, or if too many parts of the schema refer to each other.
   */
  read(value: unknown, unknownFields: "refuse" | "allow", maxSteps: number): FieldsRead {
    const walk = new Walk(new Steps(maxSteps), this.#lookups, unknownFields);
    walk.enter(value, { type: "part", node: this.#root }, undefined);
    return { unknown: walk.unknown, total: walk.total, dropped: walk.dropped };
  }
}

class Walk {
  readonly unknown: UnknownField[] = [];
  total = 0;
  dropped = false;
  readonly #steps: Steps;
  readonly #reader: FieldReader;
  readonly #unknownFields: "refuse" | "allow";

  constructor(steps: Steps, lookups: SchemaLookups, unknownFields: "refuse" | "allow") {
    this.#steps = steps;
    this.#reader = new FieldReader(steps, lookups);
    this.#unknownFields = unknownFields;
  }

  enter(value: unknown, reading: Reading, place: Place | undefined): void {
    if (typeof value !== "object" || value === null) return;
    const expanded = this.#reader.expand(reading, value);
    if (expanded.type === "silent") return;
    if (Array.isArray(value)) this.#enterArray(value, expanded, place);
    else this.#enterObject(value as Record<string, unknown>, expanded, place);
  }

  #enterObject(value: Record<string, unknown>, reading: Reading, place: Place | undefined): void {
    for (const key of Object.keys(value)) {
      const field = this.#reader.fieldOf(reading, key);
      if (field === undefined) continue;
      if (field === "unknown") {
        if (this.#unknownFields === "allow") continue;
        this.#note(key, reading, place);
        delete value[key];
      } else if (value[key] !== null) this.enter(value[key], field, { key, outer: place });
      else if (this.#reader.mayBeAbsent(reading, key) && !this.#reader.takesNull(field)) {
        delete value[key];
        this.dropped = true;
      }
    }
  }

  #enterArray(value: readonly unknown[], reading: Reading, place: Place | undefined): void {
    const start = this.#reader.prefixLength(reading);
    const rest = this.#reader.elementOf(reading, start);
    for (const [index, element] of value.entries()) {
      this.#steps.spend(1);
      const child = index < start ? this.#reader.elementOf(reading, index) : rest;
      if (child.type !== "silent") this.enter(element, child, { key: index, outer: place });
    }
  }

  #note(key: string, reading: Reading, place: Place | undefined): void {
    this.total += 1;
    if (this.unknown.length === FIELDS_LISTED) return;
    const path: (string | number)[] = [key];
    for (let outer = place; outer !== undefined; outer = outer.outer) path.unshift(outer.key);
    this.unknown.push({ path, known: this.#reader.knownNames(reading) });
  }
}
