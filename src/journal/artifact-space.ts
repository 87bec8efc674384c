import { type ExecutionId, now, PortcullisError } from "../base/index.ts";
import type { Head, Journal } from "./journal.ts";
import { readRecords } from "./reading/read-records.ts";
import type { ArtifactRecord } from "./record.ts";

/** A value that is kept outside of a model's context, without the value. */
export type Artifact = Omit<ArtifactRecord, "type" | "value" | "at">;

/** An artifact that the journal already holds. */
export interface PastArtifact extends Artifact {
  /** Index of its record, or of an earlier record. */
  readonly position: Head;
}

export interface ArtifactLog {
  append(record: ArtifactRecord): Promise<void>;
  /** Index of a record that is not after the next one. */
  readonly position: Head;
}

/** JSON text of a value. With `redacted` it is not what was kept. */
export type KeptText = Pick<ArtifactRecord, "value" | "redacted">;

interface Entry extends PastArtifact {
  /** Kept only if the journal holds it in this process's memory too. */
  readonly kept?: KeptText;
}

export function pastArtifact(record: ArtifactRecord, position: Head): PastArtifact {
  const { name, bytes, shape, first, call } = record;
  return { name, bytes, shape, first, call, position };
}

/**
 * The artifacts of a conversation, or of a program outside of conversations, by name. They are records of its journal.
 * Of several artifacts under one name the last counts. Names are untrusted.
 */
export class ArtifactSpace {
  readonly execution: ExecutionId;
  readonly #journal: Journal;
  readonly #log: ArtifactLog | undefined;
  readonly #entries = new Map<string, Entry>();
  /** Artifacts by call, also if a later artifact has taken their name. */
  readonly #byCall = new Map<string, Entry>();
  readonly #reserved = new Set<string>();

  /** Without a log, artifacts are only read. */
  constructor(journal: Journal, execution: ExecutionId, past: readonly PastArtifact[] = [], log?: ArtifactLog) {
    this.execution = execution;
    this.#journal = journal;
    this.#log = log;
    for (const artifact of past) this.#note(artifact);
  }

  /** In the order in which their names were first used. */
  get all(): readonly Artifact[] {
    return [...this.#entries.values()];
  }

  find(name: string): Artifact | undefined {
    return this.#entries.get(name);
  }

  savedBy(call: string): Artifact | undefined {
    return this.#byCall.get(call);
  }

  /** Takes a place for a name. Returns how many names there would be if that is more than `allowed`. */
  reserve(name: string, allowed: number): number | undefined {
    if (this.#entries.has(name) || this.#reserved.has(name)) return undefined;
    const names = this.#entries.size + this.#reserved.size + 1;
    if (names > allowed) return names;
    this.#reserved.add(name);
    return undefined;
  }

  /** A name for a value that is kept without one: the same call's earlier name, or a new one like `result-3`, or `printed`, `printed-2`. */
  nameFor(call: string, kind: "result" | "printed" = "result"): string {
    const before = this.#byCall.get(call)?.name;
    if (before !== undefined) return before;
    for (let number = 1; ; number += 1) {
      const name = kind === "printed" && number === 1 ? kind : `${kind}-${number}`;
      if (!this.#entries.has(name) && !this.#reserved.has(name)) return name;
    }
  }

  async save({ name, bytes, shape, first, call }: Artifact, kept: KeptText): Promise<void> {
    const log = this.#log;
    if (!log) throw new Error("These artifacts are only read.");
    const { position } = log;
    // No more fields than these: one that a reader does not know makes the journal unreadable.
    const artifact = { name, bytes, shape, first, call };
    await log.append({ type: "artifact", ...artifact, ...kept, at: now() });
    this.#note({ ...artifact, position, ...(this.#journal.isDurable !== true && { kept }) });
  }

  /** The value of an artifact of this space. Rejects as the journal does. */
  async read({ name, call }: Artifact): Promise<KeptText> {
    const entry = this.#byCall.get(call);
    if (entry?.kept) return entry.kept;
    const { tenant } = await this.#journal.find(this.execution);
    const from = entry?.position ?? 0;
    for await (const record of readRecords(this.#journal, this.execution, { tenant, from })) {
      if (record.type !== "artifact" || record.call !== call) continue;
      const { value, redacted } = record;
      // Redaction may have taken the name out of a record.
      if (record.name !== name && redacted === undefined) continue;
      return redacted === undefined ? { value } : { value, redacted };
    }
    throw new PortcullisError(
      "journal_invalid",
      `The journal holds no artifact ${JSON.stringify(name)} of execution ${JSON.stringify(this.execution)} any more. Restore the journal from a backup.`,
    );
  }

  #note(entry: Entry): void {
    this.#reserved.delete(entry.name);
    this.#entries.set(entry.name, entry);
    this.#byCall.set(entry.call, entry);
  }
}
