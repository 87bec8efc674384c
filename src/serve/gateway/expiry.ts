/*
 * Ends what clients of the gateway have left. The open executions of the journal come in, from whatever lists them; those without a record for as
 * long as their clients were told to have are ended. Answers that are stored stay readable much longer.
 */
import { randomUUID } from "node:crypto";
import { Counts, defaultHeldBytes, type ExecutionId, now, PortcullisError, UNIT_BYTES } from "../../base/index.ts";
import { cancelPrograms, type PastConversation, readPastConversation } from "../../conversations/from-journal/index.ts";
import { ConversationLog } from "../../conversations/index.ts";
import { drivenHere, isDriven, refuseDriven } from "../../executions/driven.ts";
import type { ExecutionSummary, Journal } from "../../journal/journal.ts";
import { findIfKnown, readHeader, readList, readRecords } from "../../journal/reading/index.ts";
import type { Model } from "../../models/model.ts";
import type { Runtime } from "../../runtime/create-runtime.ts";
import { isOthers } from "../driving/driving.ts";
import type { ServerRuns } from "../server-runs.ts";
import { newTurns, type Turns } from "../turns.ts";
import { isOfGateway, isStoredExecution } from "./carried/seals.ts";

type Swept = Pick<ExecutionSummary, "execution" | "tenant" | "records">;

interface ExpiryParts {
  readonly runtime: Runtime;
  readonly runs: ServerRuns;
  readonly onError: (error: unknown) => void;
}

/** Bytes of a conversation beside its texts. */
const EACH_BYTES = 16 * 1024;
/** Bytes of memory that the conversations of all clients may take in a journal in memory. */
const MOST_BYTES = Math.min(32 * 1024 * 1024, defaultHeldBytes() / 8);
/** How long an execution is claimed to be ended, in milliseconds. */
const LEASE_MS = 15_000;

export type Expiry = ReturnType<typeof gatewayExpiry>;

export function gatewayExpiry(parts: ExpiryParts) {
  const { journal } = parts.runtime;
  let settling: Promise<unknown> = Promise.resolve();
  let isStopped = false;
  const endOne = (execution: ExecutionId, tenant: string) => endLeft(state, execution, tenant);
  const room = roomFor(parts.runtime, parts.onError, (execution, tenant) =>
    ifLeft(state, execution, () => endOne(execution, tenant).then(() => true)),
  );
  const state: ExpiryState = { ...parts, turns: newTurns(), dueAt: new Map(), forget: room.forget };
  const { turns, dueAt } = state;
  const seen = new Set<ExecutionId>();
  const settleAt = async (now: number) => {
    let ended = 0;
    // What ended otherwise is not open any more.
    for (const execution of dueAt.keys()) if (!seen.has(execution)) dueAt.delete(execution);
    seen.clear();
    for (const [execution, at] of dueAt) {
      if (isStopped) return ended;
      if (at <= now && (await ifLeft(state, execution, (summary) => expire(state, summary, now)))) ended += 1;
    }
    return ended;
  };
  return {
    turns,
    end: endOne,
    note: room.note,
    stop(): void {
      isStopped = true;
    },
    /** Notes an open execution of the journal. Those that the gateway has not begun are passed over. */
    see({ execution }: Pick<ExecutionSummary, "execution">): void {
      if (!isOfGateway(execution)) return;
      seen.add(execution);
      dueAt.set(execution, dueAt.get(execution) ?? 0);
    },
    /** Lists the open executions itself. Resolves as `settle`. Rejects if the journal cannot be listed. */
    async sweep(): Promise<number> {
      for await (const summary of readList(journal, { open: true })) {
        if (isStopped) return 0;
        this.see(summary);
      }
      return this.settle();
    },
    /** Ends what has expired of the executions that were seen, all that are open. Resolves with the number of those. */
    settle(): Promise<number> {
      const settled = settling.then(() => settleAt(now()));
      settling = settled;
      return settled;
    },
  };
}

interface ExpiryState extends ExpiryParts {
  readonly turns: Turns;
  /** When open executions may have expired at the earliest, in milliseconds since 1970: until then they are not read. */
  readonly dueAt: Map<ExecutionId, number>;
  readonly forget: (execution: ExecutionId) => void;
}

/** Works on an execution that no request has and nothing drives. False if there is none, and if the work fails. */
async function ifLeft(
  { runtime: { journal }, runs, onError, turns, dueAt, forget }: ExpiryState,
  execution: ExecutionId,
  work: (summary: ExecutionSummary) => Promise<boolean>,
): Promise<boolean> {
  if (turns.isTaken(execution)) return false;
  const release = await turns.take(execution);
  try {
    const summary = await findIfKnown(journal, execution);
    if (summary && !summary.ended) return !isDriven(journal, summary) && !runs.has(execution) && (await work(summary));
    dueAt.delete(execution);
    forget(execution);
  } catch (error) {
    if (!isOthers(error)) onError(error);
  } finally {
    release();
  }
  return false;
}

/** Ends a conversation, unless its programs say that its client was there meanwhile. */
async function expire(state: ExpiryState, summary: ExecutionSummary, now: number): Promise<boolean> {
  const { runtime, dueAt } = state;
  const { journal } = runtime;
  const { execution, tenant } = summary;
  const { limits, owner } = (await readHeader(journal, execution, { tenant })) ?? {};
  const waitMs = limits?.waitMs ?? 0;
  const own = await lastAt(journal, summary);
  dueAt.set(execution, own + waitMs);
  if (own + waitMs > now) return false;
  const past = await readPastConversation(journal, execution, tenant);
  const programs = openPrograms(past, tenant);
  const last = Math.max(own, ...(await Promise.all(programs.map((one) => lastAt(journal, one)))));
  const isStored = isStoredExecution(execution);
  const { storedMs = Infinity } = owner ?? {};
  const due = isStored && programs.length === 0 ? own + storedMs : last + waitMs;
  dueAt.set(execution, due);
  if (due > now) return false;
  // Nothing goes on with a conversation whose journal was redacted.
  if (isStored && programs.length > 0 && !past.isRedacted) await giveUpCalls(runtime, past);
  else await endLeft(state, execution, tenant);
  return true;
}

/** Ends a conversation that nothing drives, with its programs. Rejects with `execution_driven`, and as the journal does. */
async function endLeft(
  { runtime: { journal }, dueAt, forget }: ExpiryState,
  execution: ExecutionId,
  tenant: string,
): Promise<void> {
  const past = await readPastConversation(journal, execution, tenant);
  if (!past.outcome) {
    await refuseDriven(journal, execution);
    const outcome = past.rest?.ending ?? JSON.stringify({ type: "cancelled" });
    const driver = { driver: randomUUID(), leaseMs: LEASE_MS };
    const log = await ConversationLog.claim(journal, past.state, driver, [{ type: "outcome", outcome, at: now() }]);
    await log.end(true);
    await cancelPrograms({ journal, leaseMs: LEASE_MS }, past);
  }
  dueAt.delete(execution);
  forget(execution);
}

/** In a journal in memory: the conversations that clients may go on with, for which there is room. `end` resolves with whether it has ended one. */
function roomFor(
  { journal }: Runtime,
  onError: ExpiryParts["onError"],
  end: (execution: ExecutionId, tenant: string) => Promise<boolean>,
) {
  /** That which was used last at the end. */
  const resting: Resting = new Map();
  const held = new Counts();
  let isEnding = false;
  let hasTold = false;
  const forget = (execution: ExecutionId) => {
    const entry = resting.get(execution);
    if (entry) held.add(entry.tenant, -entry.bytes);
    resting.delete(execution);
  };
  /** Ends the oldest conversations, until all have room. Never rejects. */
  const makeRoom = async () => {
    if (isEnding) return;
    isEnding = true;
    const passed = new Set<ExecutionId>();
    while (held.all > MOST_BYTES) {
      const oldest = oldestOf(resting, held, passed);
      if (!oldest) break;
      const [execution, { tenant }] = oldest;
      passed.add(execution);
      const isEnded = await end(execution, tenant);
      if (isEnded && !hasTold) onError(FULL);
      hasTold ||= isEnded;
    }
    isEnding = false;
  };
  return {
    forget,
    /** Notes that a request has used a conversation, as far as it has begun. Never rejects. */
    note: async (execution: ExecutionId, tenant: string): Promise<void> => {
      if (journal.isDurable) return;
      try {
        const found = await findIfKnown(journal, execution);
        forget(execution);
        if (!found || found.ended) return;
        const bytes = EACH_BYTES + UNIT_BYTES * (found.heldLength ?? 0);
        resting.set(execution, { tenant, bytes });
        held.add(tenant, bytes);
      } catch (error) {
        onError(error);
      }
      await makeRoom();
    },
  };
}

type Resting = Map<ExecutionId, { readonly tenant: string; readonly bytes: number }>;

/** The oldest conversation of the tenant whose conversations take most; undefined if all of its were passed. */
function oldestOf(resting: Resting, held: Counts, passed: ReadonlySet<ExecutionId>) {
  const [tenant] = [...held.byKey].reduce((one, other) => (other[1] > one[1] ? other : one));
  const own = [...resting].filter(([, one]) => one.tenant === tenant);
  // The one that was just used is for its client to go on with, however large it is.
  return own.slice(0, -1).find(([id]) => !passed.has(id));
}

const FULL = new PortcullisError(
  "conversation_ended",
  `The conversations of the vendors' paths take more than ${MOST_BYTES} bytes of memory, so the oldest are ended before their time from now on. Keep a journal in a file (--journal) to keep them.`,
);

function openPrograms({ open }: PastConversation, tenant: string): readonly Swept[] {
  return [...open.values()].flatMap(({ program }) => {
    const { header, records } = program?.state ?? {};
    return header && records !== undefined && !program?.outcome
      ? [{ execution: header.execution, tenant, records }]
      : [];
  });
}

/** When the last record of an execution was appended, in milliseconds since 1970. */
async function lastAt(journal: Journal, { execution, tenant, records }: Swept): Promise<number> {
  let at = 0;
  for await (const record of readRecords(journal, execution, { tenant, from: records - 1, count: 1 }))
    at = "at" in record ? record.at : "startedAt" in record ? record.startedAt : at;
  return at;
}

/** Ends the programs of a conversation that nothing drives, and gives its open calls up. It rests then. */
async function giveUpCalls(runtime: Runtime, past: PastConversation): Promise<void> {
  const { journal } = runtime;
  const { execution, tenant } = past.header;
  if (drivenHere(journal, execution)) return;
  // Of a conversation that is taken up to be ended, programs are not taken up.
  await cancelPrograms({ journal, leaseMs: LEASE_MS }, past);
  const signal = AbortSignal.abort(new Error("Its client does not continue it."));
  const options = { model: silent(past.answering.model), allowChangedTools: true };
  await runtime.execution(execution, { tenant }).resume({ ...options, signal, approve: () => "later" });
}

/** Stands for the model of a conversation that is only to be ended. */
export function silent(name: string): Model {
  const nothing = () => {};
  const turn = async () => ({ type: "aborted" as const });
  const conversation = { say: nothing, answer: nothing, restore: nothing, turn };
  return { name, hostsPrograms: false, converse: async () => conversation };
}
