import type { DecisionRecord } from "../../journal/record.ts";
import type { CallLedger } from "../call-ledger.ts";
import type { OpenCall } from "../open-call.ts";
import type { Grants } from "./grants.ts";

/** Lets calls take their part of a grant, and writes that to the journal. */
export class GrantedCalls {
  readonly #grants: Grants;
  readonly #ledger: CallLedger;
  /** By the call's id, until the journal holds the decision. */
  readonly #granting = new Map<string, Promise<DecisionRecord>>();

  constructor(grants: Grants, ledger: CallLedger) {
    this.#grants = grants;
    this.#ledger = ledger;
  }

  /**
   * Takes a call's part of a grant; undefined if it fits none. The same call takes and writes once. Resolves with the decision
   * once the journal holds it, and rejects if the journal does.
   */
  take({ identity, tool, shownText }: OpenCall): Promise<DecisionRecord> | undefined {
    const { callId } = identity;
    const before = this.#granting.get(callId);
    if (before) return before;
    const taken = this.#grants.take(tool, callId, shownText);
    if (!taken) return undefined;
    const { by, granted } = taken;
    const approval = { type: "approved", ...(by === undefined ? {} : { by }) } as const;
    const { record, done } = this.#ledger.approved(identity, approval, { granted });
    this.#grants.keep(tool, record);
    const granting = done.then(() => record);
    this.#granting.set(callId, granting);
    void granting.catch(() => {}).then(() => this.#granting.delete(callId));
    return granting;
  }
}
