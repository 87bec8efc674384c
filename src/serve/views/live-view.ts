import type { ExecutionId } from "../../base/index.ts";
import type { ExecutionSummary, Journal } from "../../journal/journal.ts";
import { readHeader } from "../../journal/reading/index.ts";
import type { ProgramHeader } from "../../journal/record.ts";
import type { TextBounds } from "./parts/text-allowance.ts";
import type { ExecutionView } from "./view.ts";
import { VIEW_BOUNDS, viewExecution } from "./view-execution.ts";
import { ProgramFold } from "./view-program.ts";

const FIELD_BYTES = 16;

/**
 * The view of one execution again and again, as its journal grows. Of a program it reads each record once. A conversation
 * and a call of a host have few records: they are read anew.
 */
export class LiveView {
  readonly #journal: Journal;
  readonly #execution: ExecutionId;
  readonly #bounds: TextBounds;
  #program: { readonly header: ProgramHeader; readonly fold: ProgramFold } | undefined;
  #viewBytes = 0;

  constructor(journal: Journal, execution: ExecutionId, bounds: TextBounds = VIEW_BOUNDS) {
    this.#journal = journal;
    this.#execution = execution;
    this.#bounds = bounds;
  }

  /** Memory that it and its last view hold, in bytes: they share their texts. */
  get heldBytes(): number {
    return this.#program?.fold.heldBytes ?? this.#viewBytes;
  }

  /** The view of the records that there are now. Rejects as `viewExecution` does. */
  async next(): Promise<ExecutionView> {
    const summary = await this.#journal.find(this.#execution);
    const program = (this.#program ??= await this.#programOf(summary));
    if (!program) {
      const view = await viewExecution(this.#journal, this.#execution, this.#bounds);
      this.#viewBytes = bytesOf(view);
      return view;
    }
    const { header, fold } = program;
    await fold.read(this.#journal, header);
    return fold.view(this.#journal, summary, header);
  }

  async #programOf(summary: ExecutionSummary) {
    const header = await readHeader(this.#journal, this.#execution, summary);
    return header?.kind === "program" ? { header, fold: new ProgramFold(this.#bounds) } : undefined;
  }
}

/** Memory of plain data, in bytes. */
function bytesOf(value: unknown): number {
  if (typeof value === "string") return 2 * value.length;
  if (typeof value !== "object" || value === null) return FIELD_BYTES;
  return Object.values(value).reduce<number>((sum, field) => sum + FIELD_BYTES + bytesOf(field), FIELD_BYTES);
}
