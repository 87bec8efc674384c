/*
 * The tools of an execution whose owner is another process: what a worker's gate has in place of handlers. A call goes to
 * the owner; its answer, or what is known of it without one, comes back.
 */
import { setTimeout as delay } from "node:timers/promises";
import { PortcullisError } from "../errors.ts";
import { FailedElsewhere, OutcomeUnknown } from "../gate/run/failed-elsewhere.ts";
import { FAILURE_CODES, type FailureCode } from "../gate/answer.ts";
import type { ProgramHeader } from "../journal/record.ts";
import type { OwnedTools } from "../programs/scope.ts";
import { content } from "../tools/content.ts";
import type { CallContext, Tool } from "../tools/tool.ts";
import { type Asked, askOwner, type OwnerReply, OwnerSilent } from "./ask-owner.ts";
import { type Declared, definitionDigest, readDeclarations, toolsOf } from "./declarations.ts";
import { type CallableOwner, WORKER_KEY_VARIABLE } from "./owner-options.ts";
import { HEADERS, type OwnerProblem, PATHS, readAnswer, readProblem } from "./wire.ts";
import { openAsWorker } from "./worker-key.ts";

/** Wait between two attempts, in milliseconds: it doubles up to the last. */
const [FIRST_RETRY_MS, MOST_RETRY_MS] = [50, 1000];
/** Time for a request that runs nothing, in milliseconds. */
const SHORT_MS = 10_000;
/** Time of an answer on its way, in milliseconds: an owner that runs answers by the end of the time that it was given. */
const ANSWER_MS = 2000;
/** Declarations that are kept read: executions of one owner have the same. */
const MOST_READ = 100;

type Owned = Required<Pick<ProgramHeader, "owner" | "ownerTools">> & Pick<ProgramHeader, "execution" | "tenant">;

/** The owner is not there, or not yet: why, in words for the worker's operator. */
interface Gone {
  readonly why: string;
}

/** Calls tools at the owners of executions, if they are among those that it may call. */
export class CalledOwners implements OwnedTools {
  /** Keys of the workers by the owners' origins; undefined where none is known. */
  readonly #allowed: ReadonlyMap<string, string | undefined>;
  readonly #patienceMs: number;
  readonly #read = new Map<string, readonly Declared[]>();
  /** The owners that answered last, by address. */
  readonly #instances = new Map<string, string>();

  /** `patienceMs`: how long a call waits for an owner that is gone before its execution is left. */
  constructor(allowed: readonly (string | CallableOwner)[], patienceMs: number) {
    const workerKey = process.env[WORKER_KEY_VARIABLE];
    const owners = allowed.map((one) => (typeof one === "string" ? { url: one, workerKey } : one));
    this.#allowed = new Map(owners.map((one) => [originOf(one.url), one.workerKey]));
    this.#patienceMs = patienceMs;
  }

  of(header: ProgramHeader, leave: (reason: Error) => void): readonly Tool[] {
    const owned = ownedOf(header);
    // An execution whose key cannot be opened is not claimed, and makes no call.
    const key = this.#keyOf(owned) ?? "";
    const parts = { owned, key, leave, patienceMs: this.#patienceMs, instances: this.#instances };
    const call = (tool: Declared, input: unknown, context: CallContext) =>
      new SentCall({ ...parts, tool }).make(input, context);
    const needsApproval = (tool: Declared, input: unknown) => new SentCall({ ...parts, tool }).needsApproval(input);
    return toolsOf(this.#declared(owned.ownerTools), {
      moreMs: 2 * (this.#patienceMs + ANSWER_MS),
      call,
      needsApproval,
    });
  }

  async check(header: ProgramHeader, signal: AbortSignal): Promise<void> {
    const owned = ownedOf(header);
    const { owner, execution, tenant } = owned;
    const refuse = (why: string): never => {
      throw new PortcullisError(
        "owner_unavailable",
        `Execution ${JSON.stringify(execution)} waits for its owner ${owner.url.slice(0, 200)}: ${why}`,
      );
    };
    if (!this.#allowed.has(originOf(owner.url)))
      refuse("this process may not call it. Name it with createRuntime({ owners }), or portcullis worker --owner.");
    if (this.#allowed.get(originOf(owner.url)) === undefined)
      refuse(
        `this process has no key of its workers. Set ${WORKER_KEY_VARIABLE} to what portcullis owner --worker-key prints, or name it with createRuntime({ owners: [{ url, workerKey }] }).`,
      );
    const key = this.#keyOf(owned);
    if (key === undefined)
      return refuse(
        `the key of the execution cannot be opened with the key that this process has of its workers (${WORKER_KEY_VARIABLE}).`,
      );
    const asked = {
      method: "GET",
      path: PATHS.ready,
      key,
      tenant,
      resultBytes: 0,
      resultValues: 0,
    } as const;
    try {
      const reply = await askOwner(owner.url, {
        ...asked,
        signal: AbortSignal.any([signal, AbortSignal.timeout(SHORT_MS)]),
      });
      if (reply.instance !== undefined) this.#instances.set(owner.url, reply.instance);
      if (reply.status !== 200) refuse(`it answers: ${reasonOf(reply)}`);
    } catch (error) {
      signal.throwIfAborted();
      if (PortcullisError.is(error)) throw error;
      refuse(
        `it does not answer (${error instanceof Error ? error.message : String(error)}). Start it, or check its address.`,
      );
    }
  }

  #keyOf({ owner, execution, tenant }: Owned): string | undefined {
    const workerKey = this.#allowed.get(originOf(owner.url));
    if (workerKey === undefined) return undefined;
    return openAsWorker(workerKey, owner.sealedKey, { url: owner.url, execution, tenant });
  }

  #declared(text: string): readonly Declared[] {
    const known = this.#read.get(text) ?? readDeclarations(text);
    this.#read.delete(text);
    this.#read.set(text, known);
    const [oldest] = this.#read.keys();
    if (this.#read.size > MOST_READ && oldest !== undefined) this.#read.delete(oldest);
    return known;
  }
}

interface SentParts {
  readonly owned: Owned;
  /** The key of the execution. */
  readonly key: string;
  readonly tool: Declared;
  readonly leave: (reason: Error) => void;
  readonly patienceMs: number;
  readonly instances: Map<string, string>;
}

/** One call, sent until there is an answer or it is certain that there will be none. */
class SentCall {
  readonly #parts: SentParts;
  /** The owner that may have begun it. Undefined as long as none may have. */
  #sentTo: string | undefined;

  constructor(parts: SentParts) {
    this.#parts = parts;
  }

  async make(input: unknown, context: CallContext): Promise<unknown> {
    const { callId, effect, resultBytes, resultValues, signal } = context;
    const givenMs = this.#parts.tool.timeoutMs + this.#parts.patienceMs;
    const asked = {
      path: PATHS.call,
      headers: {
        [HEADERS.call]: encodeURIComponent(callId),
        [HEADERS.timeout]: String(givenMs),
        [HEADERS.definition]: definitionDigest(this.#parts.tool),
      },
      body: JSON.stringify(input),
      resultBytes,
      resultValues,
      signal,
    };
    // An execution that is left goes on with another worker, which the owner gives the call's answer.
    const cancel = () => !PortcullisError.is(signal.reason) && this.#cancel(asked.headers[HEADERS.call] ?? "");
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const reply = await this.#ask(asked, effect === "write", givenMs + ANSWER_MS);
      return this.#valueOf(reply);
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  async needsApproval(input: unknown): Promise<boolean> {
    const never = new AbortController();
    const { body } = await this.#ask(
      {
        path: PATHS.approval,
        headers: {},
        body: JSON.stringify(input),
        resultBytes: 0,
        resultValues: 0,
        signal: never.signal,
      },
      false,
      SHORT_MS,
    );
    const { needsApproval } = (typeof body === "object" && body !== null ? body : {}) as {
      readonly needsApproval?: unknown;
    };
    return needsApproval !== false;
  }

  /**
   * Asks until the owner answers. A call that changes something is never made twice. An owner that takes a request and is
   * silent for `silentMs`, because it was stopped or its machine is gone, counts as gone.
   */
  async #ask(
    asked: Pick<Asked, "path" | "headers" | "body" | "resultBytes" | "resultValues" | "signal">,
    isWrite: boolean,
    silentMs: number,
  ): Promise<OwnerReply> {
    const { key, owned } = this.#parts;
    const { tenant } = owned;
    const since = performance.now();
    const silent = AbortSignal.timeout(silentMs);
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(2 * waitMs, MOST_RETRY_MS)) {
      const headers = {
        ...asked.headers,
        [HEADERS.tool]: encodeURIComponent(this.#parts.tool.name),
        ...(isWrite && this.#sentTo !== undefined ? { [HEADERS.sentTo]: this.#sentTo } : {}),
      };
      const reply = await this.#once({ ...asked, silent, headers, method: "POST", key, tenant, isAlone: isWrite });
      if ("status" in reply) return reply;
      if (silent.aborted || performance.now() - since > this.#parts.patienceMs) return this.#giveUp(reply, isWrite);
      await delay(waitMs * (0.5 + Math.random() / 2), undefined, { signal: asked.signal });
    }
  }

  async #once(asked: Asked): Promise<OwnerReply | Gone> {
    const { owned, instances } = this.#parts;
    const { url } = owned.owner;
    const before = instances.get(url) ?? UNKNOWN_OWNER;
    try {
      const reply = await askOwner(url, asked);
      if (reply.instance !== undefined) instances.set(url, reply.instance);
      const problem = reply.status === 200 ? undefined : readProblem(reply.body);
      if (reply.status === 200 || (problem && !WAITS.has(problem.code))) return reply;
      // What stands between, and answers in the owner's place, may have passed the call on.
      if (!problem || problem.code === "call_cancelled") this.#sentTo ??= before;
      return { why: reasonOf(reply) };
    } catch (error) {
      if (!(error instanceof OwnerSilent)) throw error;
      if (error.mayHaveArrived) this.#sentTo ??= before;
      return { why: error.message };
    }
  }

  /** Its owner is gone: the execution waits for it without a process. What changes something waits only if it may have been done. */
  #giveUp({ why }: Gone, isWrite: boolean): never {
    if (isWrite && this.#sentTo !== undefined) throw new OutcomeUnknown(why);
    if (isWrite)
      throw new FailedElsewhere(
        "source_unavailable",
        `${this.#parts.tool.name} failed: its owner cannot be reached. Nothing was done.`,
      );
    const gone = new PortcullisError(
      "runtime_suspended",
      `The owner ${this.#parts.owned.owner.url.slice(0, 200)} does not answer (${why.slice(0, 500)}). The execution goes on once it does.`,
    );
    this.#parts.leave(gone);
    throw gone;
  }

  #valueOf({ status, body, fault }: OwnerReply): unknown {
    const { name } = this.#parts.tool;
    const problem = status === 200 ? undefined : readProblem(body);
    if (problem?.code === "outcome_unknown") throw new OutcomeUnknown(problem.message);
    if (problem)
      throw new FailedElsewhere(
        "source_unavailable",
        `${name} failed: its owner refuses the call. ${SENTENCES[problem.code] ?? ""}`,
      );
    if (fault === "bytes" || fault === "values")
      throw new PortcullisError("result_too_large", "The owner's answer is larger than a result may be.");
    const answer = fault === undefined ? readAnswer(body) : undefined;
    if (!answer) throw new FailedElsewhere("source_unavailable", `${name} failed: its owner's answer cannot be read.`);
    if (answer.ok) return answer.shown ? content({ value: answer.value, ...answer.shown }) : answer.value;
    const value = answer.value === undefined ? undefined : JSON.stringify(answer.value);
    throw new FailedElsewhere(codeOf(answer.code), answer.message, value);
  }

  /** The call has ended here. Its owner learns it if it can be reached. */
  #cancel(call: string): void {
    const { key, owned } = this.#parts;
    const { owner, tenant } = owned;
    const headers = { [HEADERS.call]: call };
    askOwner(owner.url, {
      method: "POST",
      path: PATHS.cancel,
      key,
      headers,
      body: "",
      tenant,
      signal: AbortSignal.timeout(SHORT_MS),
      resultBytes: 0,
      resultValues: 0,
    }).catch(() => {});
  }
}

/** Stands for an owner that has not said who it is. */
const UNKNOWN_OWNER = "unknown";

/** The owner has done nothing, and may do it later, or once its operator has set it right. */
const WAITS: ReadonlySet<OwnerProblem> = new Set([
  "owner_busy",
  "owner_closing",
  "owner_key_invalid",
  // By the owner's end, or by a worker that is gone. A call that changes something is not made again so.
  "call_cancelled",
]);

/** What a program is told of a refusal. */
const SENTENCES: Partial<Record<OwnerProblem, string>> = {
  owner_key_expired: "The key of the execution has expired.",
  tool_unknown: "It has no such tool for this execution.",
  tool_changed: "It defines the tool otherwise now. Nothing was done: submit the program again.",
  input_too_large: "The input is larger than it takes.",
  call_conflict: "It was asked for another call under the same id.",
};

/** A refusal by the owner's gate is a failure here: this gate has let the call through. */
function codeOf(code: string): FailureCode {
  return FAILURE_CODES.find((one) => one === code && one !== "outcome_unknown") ?? "handler_failed";
}

function ownedOf({ owner, ownerTools, execution, tenant }: ProgramHeader): Owned {
  if (owner && ownerTools !== undefined) return { owner, ownerTools, execution, tenant };
  throw new PortcullisError(
    "journal_invalid",
    `Execution ${JSON.stringify(execution)} names no owner, or no tools of it.`,
  );
}

/** A text that no origin equals stands for what is no address. */
function originOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  return parsed && ["http:", "https:"].includes(parsed.protocol) ? parsed.origin : "";
}

function reasonOf({ status, body }: OwnerReply): string {
  return readProblem(body)?.message.slice(0, 500) ?? `status ${status}`;
}
