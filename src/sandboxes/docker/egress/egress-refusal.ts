/** Why a connection was not made: an HTTP status for the program's client, and a sentence. */
export class EgressRefusal extends Error {
  readonly status: number;
  /** Reason phrase of the status. Some clients show only this: Python's, for example, for a refused tunnel. */
  readonly phrase: string;
  /** `refused` by the proxy's rules, or `failed` because of the network or the host. */
  readonly outcome: "refused" | "failed";

  constructor(status: number, phrase: string, message: string, outcome: "refused" | "failed" = "refused") {
    super(message);
    this.status = status;
    this.phrase = phrase;
    this.outcome = outcome;
  }
}
