/*
 * The executions that a program corrects. The id of the last of them comes in; the calls that can stand for calls of the
 * program go out, with what reads their answers, and the values that were kept.
 */
import { optionError, PortcullisError } from "../../errors.ts";
import type { EarlierCall, EarlierCallsParts, EarlierReader } from "../../gate/reuse/earlier-calls.ts";
import { type Artifact, ArtifactSpace } from "../../journal/artifact-space.ts";
import type { ExecutionId } from "../../journal/execution-id.ts";
import { ifKnown } from "../../journal/find-if-known.ts";
import type { Journal } from "../../journal/journal.ts";
import { NO_ITEMS, readHeader, readRecords } from "../../journal/reading/read-records.ts";
import type { JournalRecord, ProgramHeader } from "../../journal/record.ts";
import { Lane } from "../../values/slice-scheduler.ts";
import type { Scope } from "../scope.ts";
import { EarlierFold } from "./earlier-fold.ts";
import { findOwn } from "./past-execution.ts";
import { invalidAt, readEvent } from "./read-turns.ts";

/** The execution that a program corrects, as its header has it. */
export type After = NonNullable<ProgramHeader["after"]>;

/** All that a corrected program is given of the executions before it. */
export interface Earlier extends EarlierCallsParts {
  readonly artifacts: readonly KeptBefore[];
}

/** A value that was kept. `call` has the id of the execution before that of the call. */
export interface KeptBefore {
  readonly artifact: Artifact;
  readonly read: () => Promise<string>;
}

/**
 * Reads the execution that a program corrects, and those which that one corrects itself. Rejects with `execution_unknown`, in the
 * same words for another tenant's; with `execution_open` for one that has not ended; with `option_invalid` for one that is
 * no program, or has another language; and as the journal does.
 */
export async function readEarlier(
  { journal, tenant, language }: Pick<Scope, "journal" | "tenant" | "language">,
  { execution, maxAgeMs }: After,
): Promise<Earlier> {
  const chain = await chainOf({ journal, tenant, language }, execution);
  const calls = new Map<string, EarlierCall>();
  let artifacts: readonly KeptBefore[] = [];
  let records = 0;
  for (const id of chain) {
    const fold = new EarlierFold(records);
    await readRecords(journal, id, { tenant, ...NO_ITEMS }).each((record) => fold.take(record));
    records += fold.records;
    for (const { replaces } of fold.calls) if (replaces) calls.delete(refOf(replaces));
    for (const call of fold.calls) calls.set(refOf(call), call);
    // A program has taken over what the program before it had kept.
    artifacts = keptIn(new ArtifactSpace(journal, id, fold.artifacts));
  }
  return { calls: [...calls.values()], artifacts, maxAgeMs, reader: readerOf(journal, tenant) };
}

/** Whether the journal still holds an execution and those that it corrects: a journal in memory deletes old ones. */
export async function isReadable(
  scope: Pick<Scope, "journal" | "tenant" | "language">,
  execution: ExecutionId,
): Promise<boolean> {
  return (await ifKnown(() => chainOf(scope, execution))) !== undefined;
}

function keptIn(space: ArtifactSpace): readonly KeptBefore[] {
  return space.all.map((kept) => {
    const { name, bytes, shape, first, call } = kept;
    const id = call.includes("/") ? call : `${space.execution}/${call}`;
    return { artifact: { name, bytes, shape, first, call: id }, read: () => space.read(kept) };
  });
}

function refOf({ execution, call }: Pick<EarlierCall, "execution" | "call">): string {
  return JSON.stringify([execution, call]);
}

/** The executions in the order in which they ran. */
async function chainOf(
  scope: Pick<Scope, "journal" | "tenant" | "language">,
  last: ExecutionId,
): Promise<readonly ExecutionId[]> {
  const chain = new Set<ExecutionId>();
  for (let id: ExecutionId | undefined = last; id !== undefined;) {
    if (chain.has(id)) throw invalidAt(id, 0, "it corrects itself");
    chain.add(id);
    const header: ProgramHeader = await readCorrected(scope, id);
    id = header.after?.execution;
  }
  return [...chain].toReversed();
}

async function readCorrected(
  { journal, tenant, language }: Pick<Scope, "journal" | "tenant" | "language">,
  execution: ExecutionId,
): Promise<ProgramHeader> {
  const { ended, kind } = await findOwn({ journal, tenant }, execution);
  const expects = (what: string, got: string) => optionError("execute({ after })", what, got, (word) => String(word));
  if (kind !== "program") throw expects("the execution of a program", `a ${kind}`);
  if (!ended)
    throw new PortcullisError(
      "execution_open",
      `Execution ${JSON.stringify(execution)} has not ended, so no program can go on from what it has done. Resume it, or cancel it, first.`,
    );
  const header = await readHeader(journal, execution, { tenant });
  if (header?.kind !== "program") throw invalidAt(execution, 0, "it is no header of a program");
  if (header.language !== language)
    throw expects(
      `an execution of a program in ${JSON.stringify(language)}`,
      `one in ${JSON.stringify(header.language)}`,
    );
  return header;
}

function readerOf(journal: Journal, tenant: string): EarlierReader {
  const lane = new Lane(tenant);
  const recordAt = async (execution: ExecutionId, from: number): Promise<JournalRecord> => {
    for await (const record of readRecords(journal, execution, { tenant, from, count: 1 })) return record;
    throw invalidAt(execution, from, "it is not there");
  };
  const eventAt = async ({ execution, call }: EarlierCall, from: number) => {
    const record = await recordAt(execution, from);
    const event = record.type === "turn" ? readEvent(record.event) : undefined;
    if ((event?.kind !== "answer" && event?.kind !== "items") || String(event.id) !== call || event.body === undefined)
      throw invalidAt(execution, from, `it does not have what answered call ${call}`);
    return event.body;
  };
  return {
    value: (call) => eventAt(call, call.answer?.turns[0] ?? 0),
    async *items(call) {
      for (const turn of call.answer?.turns ?? []) {
        const body = await eventAt(call, turn);
        const items = await lane.run(() => JSON.parse(body) as unknown);
        if (!Array.isArray(items)) throw invalidAt(call.execution, turn, "it has a batch that is no list of items");
        yield* items as unknown[];
      }
    },
    async display({ execution, answer }) {
      if (answer?.display === undefined) return undefined;
      const record = await recordAt(execution, answer.display);
      return record.type === "answered" ? record.display : undefined;
    },
  };
}
