import type { CallContext, Caller, Effect } from "../../tools/tool.ts";
import { nameDigest } from "./named.ts";
import type { OpenCall } from "../open-call.ts";
import type { ParentSession } from "../work-scope.ts";

/** The second argument of a handler. A class, because creating an object literal with a getter takes ten times as long. */
export class HandlerContext implements CallContext {
  readonly execution: string;
  readonly callId: string;
  readonly caller: Caller;
  readonly effect: Effect;
  readonly tenant: string;
  readonly context: unknown;
  readonly #call: OpenCall;
  readonly #origin: ParentSession;

  constructor(call: OpenCall, execution: string, origin: ParentSession) {
    const { tenant, context } = origin.scope;
    this.#call = call;
    this.#origin = origin;
    this.execution = execution;
    this.callId = call.identity.callId;
    this.caller = call.identity.caller;
    this.effect = call.ruling.effect;
    this.tenant = tenant;
    this.context = context;
  }

  /** The session of a handler's call; undefined for a context that no gate has made. */
  static originOf(context: CallContext): ParentSession | undefined {
    return context instanceof HandlerContext ? context.#origin : undefined;
  }

  get resultBytes(): number {
    return this.#origin.limits.resultBytes;
  }

  get resultValues(): number {
    return this.#origin.limits.resultValues;
  }

  /** A getter, because most handlers never ask. */
  get ask(): CallContext["ask"] {
    return async (question) => this.#origin.ask(this.#call, question);
  }

  get isNamed(): CallContext["isNamed"] {
    return (address) => this.#origin.isNamed(nameDigest(this.#call.tool, address));
  }

  get idempotencyKey(): string {
    const { idempotencyKey, identity } = this.#call;
    if (idempotencyKey !== undefined) return `${idempotencyKey}:${identity.tool}:${this.#call.sentDigest}`;
    // Callers choose ids of executions, with colons too. Ids of calls have none, or two calls could have one key.
    const callId = this.callId.replaceAll("%", "%25").replaceAll(":", "%3A");
    return `${this.#origin.run}:${callId}:${this.#call.sentDigest}`;
  }

  get previous(): CallContext["previous"] {
    const { handling, tool } = this.#call;
    const { items = 0, last } = handling.streamed ?? {};
    if (items === 0 || tool.resumes === "from-start") return undefined;
    handling.wasTold = true;
    return { items, last: last === undefined ? undefined : (JSON.parse(last) as unknown) };
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }
}
