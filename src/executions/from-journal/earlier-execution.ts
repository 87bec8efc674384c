/*
 * The executions that a program corrects. Their ids come in; the calls that can stand for calls of the program go out, with
 * what reads their answers, and the values that were kept.
 */
import {
  type ExecutionId,
  type HeldOverdraft,
  ignore,
  Lane,
  optionError,
  PortcullisError,
  type Share,
} from "../../base/index.ts";
import { EarlierCalls, type EarlierCall, type EarlierReader, refText } from "../../gate/reuse/earlier-calls.ts";
import { ArtifactSpace } from "../../journal/artifact-space.ts";
import { ifKnown } from "../../journal/find-if-known.ts";
import { NO_ITEMS, readHeader, readRecords } from "../../journal/reading/read-records.ts";
import type { EarlierRecord, JournalRecord, ProgramHeader } from "../../journal/record.ts";
import type { Scope } from "../scope.ts";
import { EarlierFold } from "./earlier-fold.ts";
import { findOwn } from "./past-execution.ts";
import { invalidAt, readEvent } from "./read-turns.ts";
import type { TrackedLog } from "./tracked-log.ts";

export type Correction = NonNullable<ProgramHeader["corrects"]>;

type Corrected = Pick<Scope, "journal" | "tenant" | "language" | "above">;

/** Length of the records that are appended at once, in UTF-16 code units. */
const APPENDED_LENGTH = 1024 * 1024;

/** All that a corrected program is given of the execution before it. It knows of no calls until that is read. */
function earlierExecution(scope: Corrected, corrects: Correction) {
  const calls = new EarlierCalls(readerOf(scope), corrects.maxAgeMs, scope.above);
  const keptBySource = new Map<ExecutionId, ArtifactSpace>();
  let changes: readonly EarlierCall[] = [];
  return {
    calls,

    /**
     * Reads it, those besides, and for each that never began what that was to correct. Returns the exceeded limit if a share has
     * no room for what is kept of their calls. Rejects as the journal does.
     */
    async read(share: Share): Promise<HeldOverdraft | undefined> {
      const result = await readCalls(scope, corrects, share, keptBySource);
      if ("limit" in result) return result;
      await share.lane.work(calls.add(result));
      changes = result.filter(({ effect }) => effect !== "read");
      return undefined;
    },

    /**
     * Appends what was changed to the journal of the program, as far as that was not done, so that the program that corrects
     * that one in turn needs no other journal.
     */
    async handOver(log: TrackedLog): Promise<void> {
      let length = 0;
      for (const call of changes) {
        if (log.state.takenOver.has(refText(call)) || !calls.isLeft(call)) continue;
        const record = await recordOf(call, calls);
        log.defer(record);
        length += (record.value?.length ?? 0) + record.key.length;
        if (length < APPENDED_LENGTH) continue;
        await log.flush(ignore);
        length = 0;
      }
      if (length > 0) await log.flush(ignore);
    },

    async handArtifactsOver(space: ArtifactSpace): Promise<void> {
      for (const [execution, artifacts] of keptBySource)
        for (const kept of artifacts.all) {
          const call = kept.call.includes("/") ? kept.call : `${execution}/${kept.call}`;
          if (!space.savedBy(call)) await space.save({ ...kept, call }, await artifacts.read(kept));
        }
    },
  };
}

export type Earlier = ReturnType<typeof earlierExecution>;

/** The calls of what a program corrects. Notes the values that each execution has kept. */
async function readCalls(
  { journal, tenant }: Corrected,
  { execution, besides = [] }: Correction,
  share: Share,
  keptBySource: Map<ExecutionId, ArtifactSpace>,
): Promise<readonly EarlierCall[] | HeldOverdraft> {
  const found = new Map<string, EarlierCall>();
  const sources = new Set([...besides, execution]);
  // A set gives also what is added to it meanwhile.
  for (const source of sources) {
    const fold = new EarlierFold(source, share);
    const records = readRecords(journal, source, { tenant, ...NO_ITEMS });
    for await (const record of records) {
      await records.lane.work(fold.take(record));
      if (fold.overdraft) return fold.overdraft;
    }
    const { unbegun } = fold;
    for (const one of unbegun ? [...(unbegun.besides ?? []), unbegun.execution] : []) sources.add(one);
    keptBySource.set(source, new ArtifactSpace(journal, source, fold.artifacts));
    const calls = await share.lane.work(fold.calls());
    if (sources.size === 1) return calls;
    // Of what one has read, it is not known whether another has changed it.
    const unordered = source !== execution && { position: 0, ended: Infinity };
    for (const call of calls)
      if (!unordered || call.effect !== "read") found.set(refText(call), unordered ? { ...call, ...unordered } : call);
  }
  return [...found.values()];
}

async function recordOf(earlier: EarlierCall, { reader }: EarlierCalls): Promise<EarlierRecord> {
  const { execution, call, tool, key, effect, at, answer, isHidden, approval } = earlier;
  const { bytes = 0, shape = "", partsLeftOut = 0, named } = answer ?? {};
  // The items of a stream may be more than a record holds. Whether it was done is then decided as for an unknown outcome.
  const value = answer?.isStream === false ? await reader.value(earlier) : undefined;
  const about = { earlier: { execution, call }, tool, key, effect, bytes, shape, partsLeftOut, at };
  return { type: "earlier", ...about, value, isHidden, approval, named: named && [...named] };
}

/**
 * Finds the execution that a program corrects. Rejects with `execution_unknown`, in the same words for another tenant's;
 * with `execution_open` for one that has not ended; with `option_invalid` for one that is no program, or has another
 * language; and as the journal does.
 */
export async function findEarlier(scope: Corrected, after: Correction): Promise<Earlier> {
  const { journal, tenant, language } = scope;
  const { execution } = after;
  const { ended, kind } = await findOwn({ journal, tenant }, execution);
  const expects = (what: string, got: string) =>
    optionError("execute({ corrects })", what, got, (word) => String(word));
  if (kind !== "program") throw expects("the execution of a program", `a ${kind}`);
  if (!ended)
    throw new PortcullisError(
      "execution_open",
      `Execution ${JSON.stringify(execution)} has not ended, so no program can continue from what it has done. Resume it, or cancel it, first.`,
    );
  const header = await readHeader(journal, execution, { tenant });
  if (header?.kind !== "program") throw invalidAt(execution, 0, "it is no header of a program");
  if (header.language !== language)
    throw expects(
      `an execution of a program in ${JSON.stringify(language)}`,
      `one in ${JSON.stringify(header.language)}`,
    );
  return earlierExecution(scope, after);
}

/** Whether the journal still holds an execution: a journal in memory deletes old ones. */
export async function isReadable(scope: Corrected, execution: ExecutionId): Promise<boolean> {
  return (await ifKnown(() => findEarlier(scope, { execution, maxAgeMs: 0 }))) !== undefined;
}

function readerOf({ journal, tenant }: Corrected): EarlierReader {
  const lane = new Lane(tenant);
  const recordAt = async (execution: ExecutionId, from: number): Promise<JournalRecord> => {
    for await (const record of readRecords(journal, execution, { tenant, from, count: 1 })) return record;
    throw invalidAt(execution, from, "it is not there");
  };
  const valueAt = async (execution: ExecutionId, from = 0) => {
    const record = await recordAt(execution, from);
    const event = record.type === "turn" ? readEvent(record.event) : undefined;
    const value = event?.kind === "answer" || event?.kind === "items" ? event.body : undefined;
    const text = record.type === "earlier" ? record.value : value;
    if (text === undefined) throw invalidAt(execution, from, "it does not have what answered a call");
    return text;
  };
  return {
    value: ({ source, answer }) => valueAt(source, answer?.records[0]),
    async *items({ source, answer }) {
      for (const from of answer?.records ?? []) {
        const body = await valueAt(source, from);
        const items = await lane.run(() => JSON.parse(body) as unknown);
        if (!Array.isArray(items)) throw invalidAt(source, from, "it has a batch that is no list of items");
        yield* items as unknown[];
      }
    },
    async display({ source, answer }) {
      if (answer?.display === undefined) return undefined;
      const record = await recordAt(source, answer.display);
      return record.type === "answered" ? record.display : undefined;
    },
  };
}
