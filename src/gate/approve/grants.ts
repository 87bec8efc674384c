import { ignore, now, pointerKeys } from "../../base/index.ts";
import type { DecisionRecord } from "../../journal/record.ts";
import type { Tool } from "../../tools/tool.ts";
import { toolDigest } from "../../tools/tool-digest.ts";
import { decimalOf } from "../../tools/json-schema/check-scalar.ts";
import { valueAt } from "../../tools/json-schema/json-schema.ts";
import { type Grant, type GrantUse, type GrantLeft, MAX_GRANTS, tooManyGrants } from "./grant-terms.ts";
import type { CallLedger } from "../call-ledger.ts";
import type { OpenCall } from "../open-call.ts";

/** A decision that also holds for later calls of its execution with the same tool: with the same input, or with inputs that a grant allows. */
export interface RememberedDecision {
  readonly tool: string;
  /** Digest of the tool's interface, which another tool of the same name may not have. */
  readonly definition: string;
  /** The tool's handler, if it was decided in this process: another tool of the same name has another handler. */
  readonly handler?: Tool["execute"];
  /** SHA-256 in hex of the input's JSON text. */
  readonly inputDigest: string;
  readonly decision: DecisionRecord;
}

interface Claim {
  readonly granted: GrantUse;
  readonly by: string | undefined;
}

interface OpenGrant {
  readonly origin: RememberedDecision;
  readonly terms: Grant;
  /** What is left of each sum, as `exact` has it, and of the calls. */
  readonly sums: Map<string, bigint>;
  calls: number;
}

/**
 * The grants of one execution. What is used of them follows from the decisions in the journal, each of which says what it
 * takes, so later drivers count on where earlier ones have ended. A call takes its part before its decision is written: of
 * calls at the same time, each finds what the others have left.
 */
export class Grants {
  readonly #grants: OpenGrant[] = [];
  /** Ids of the calls whose decisions have a grant, or are about to be written with one. */
  readonly #givers = new Set<string>();
  readonly #claims = new Map<string, Claim>();
  readonly #granting = new Map<string, Promise<DecisionRecord>>();
  readonly #entries: RememberedDecision[] = [];

  get all(): readonly RememberedDecision[] {
    return this.#entries;
  }

  get room(): number {
    return MAX_GRANTS - this.#givers.size;
  }

  /** Takes the place of a grant that is given with the decision about a call. Throws `option_invalid` if there is none. */
  takePlace(callId: string): void {
    if (this.room === 0) throw tooManyGrants("grant");
    this.#givers.add(callId);
  }

  /** Gives the place back: another decision about the call came first. */
  givePlaceBack(callId: string): void {
    this.#givers.delete(callId);
  }

  /** Takes in what the journal says: a decision with a grant, or one by a grant. A journal from elsewhere may have too many. */
  note(one: RememberedDecision): void {
    const { call, grant, granted } = one.decision;
    if (grant && (this.room > 0 || this.#givers.has(call))) {
      this.#givers.add(call);
      const sums = new Map(Object.entries(grant.sums ?? {}).map(([pointer, sum]) => [pointer, exact(sum)]));
      this.#grants.push({ origin: one, terms: grant, sums, calls: grant.calls ?? Infinity });
      this.#entries.push(one);
    }
    if (granted && !this.#claims.has(call)) {
      const of = this.#grants.find(({ origin }) => origin.decision.call === granted.call);
      if (of) use(of, granted);
      this.#claims.set(call, { granted, by: one.decision.by });
      this.#entries.push(one);
    }
  }

  fits(tool: Tool, callId: string, inputText: string): boolean {
    return this.#claims.has(callId) || this.#find(tool, inputText) !== undefined;
  }

  /**
   * Takes a call's part of a grant, and writes that to the journal; undefined if the call fits none. The same call takes and
   * writes once. Resolves with the decision once the journal holds it, and rejects if the journal does.
   */
  take({ identity, tool, shownText }: OpenCall, ledger: CallLedger): Promise<DecisionRecord> | undefined {
    const { callId } = identity;
    const before = this.#granting.get(callId);
    if (before) return before;
    const claim = this.#claims.get(callId) ?? this.#takeFirst(tool, callId, shownText);
    if (!claim) return undefined;
    const { by, granted } = claim;
    const { record, done } = ledger.approved(identity, { type: "approved", by }, { granted });
    const { name, execute: handler } = tool;
    this.#entries.push({ tool: name, definition: toolDigest(tool), handler, inputDigest: "", decision: record });
    const granting = done.then(() => record);
    this.#granting.set(callId, granting);
    void granting.catch(ignore).then(() => this.#granting.delete(callId));
    return granting;
  }

  #takeFirst(tool: Tool, callId: string, inputText: string): Claim | undefined {
    const found = this.#find(tool, inputText);
    if (!found) return undefined;
    const { call, by } = found.grant.origin.decision;
    const sums = found.amounts.size > 0 ? { sums: Object.fromEntries(found.amounts) } : {};
    use(found.grant, sums);
    const claim: Claim = { granted: { call, ...sums, left: leftOf(found.grant) }, by };
    this.#claims.set(callId, claim);
    return claim;
  }

  leftFor(tool: Tool): readonly GrantLeft[] {
    return this.#of(tool).map((grant): GrantLeft => {
      const { origin, terms } = grant;
      const isOver = terms.untilMs !== undefined && terms.untilMs <= now();
      const { call, by } = origin.decision;
      return { call, by, ...leftOf(grant), ...(isOver && { calls: 0 }) };
    });
  }

  /** The tool has to be the tool that was decided about. */
  #of(tool: Tool): readonly OpenGrant[] {
    if (this.#grants.length === 0) return [];
    const digest = toolDigest(tool);
    return this.#grants.filter(
      ({ origin: { tool: name, definition, handler = tool.execute } }) =>
        name === tool.name && definition === digest && handler === tool.execute,
    );
  }

  #find(tool: Tool, inputText: string) {
    const grants = this.#of(tool);
    if (grants.length === 0) return undefined;
    const at = now();
    let read: { readonly input: unknown } | undefined;
    const input = () => (read ??= { input: JSON.parse(inputText) as unknown }).input;
    for (const grant of grants) {
      const amounts = amountsOf(grant, input, at);
      if (amounts) return { grant, amounts };
    }
    return undefined;
  }
}

/** What a call with this input takes of each sum; undefined if it does not fit. The input is read only for a sum. */
function amountsOf(
  { terms, sums, calls }: OpenGrant,
  input: () => unknown,
  now: number,
): ReadonlyMap<string, number> | undefined {
  if (calls <= 0 || (terms.untilMs !== undefined && terms.untilMs <= now)) return undefined;
  const amounts = new Map<string, number>();
  for (const [pointer, balance] of sums) {
    const amount = valueAt(input(), pointerKeys(pointer));
    if (typeof amount !== "number" || !Number.isFinite(amount) || amount < 0 || exact(amount) > balance)
      return undefined;
    amounts.set(pointer, amount);
  }
  return amounts;
}

function use(grant: OpenGrant, { sums = {} }: Pick<GrantUse, "sums">): void {
  grant.calls -= 1;
  for (const [pointer, amount] of Object.entries(sums))
    grant.sums.set(pointer, (grant.sums.get(pointer) ?? 0n) - exact(amount));
}

function leftOf({ terms, sums, calls }: OpenGrant): GrantUse["left"] {
  const balances = [...sums].map(([pointer, sum]) => [pointer, sum > 0n ? Number(`${sum}e-${PLACES}`) : 0] as const);
  return {
    calls: terms.calls && Math.max(0, calls),
    sums: terms.sums && Object.fromEntries(balances),
    untilMs: terms.untilMs,
  };
}

/** Decimal places of amounts: no number has more. */
const PLACES = 400;

/** An amount, which is never negative, in units that have no rounding: 0.1 + 0.2 is 0.3, as people who allow sums of money expect. */
function exact(amount: number): bigint {
  const [digits, exponent] = decimalOf(amount);
  return digits * 10n ** BigInt(PLACES + exponent);
}
