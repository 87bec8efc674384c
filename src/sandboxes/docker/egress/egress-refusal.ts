/** Why a connection is not made: as an HTTP status for the program's client, and as a sentence. */
export class EgressRefusal extends Error {
  readonly status: number;
  /** The status in words. Clients show it where they do not show a body: python's, of a tunnel that is refused. */
  readonly phrase: string;
  /** Whether the rules refused it, or the world did. */
  readonly outcome: "refused" | "failed";

  constructor(status: number, phrase: string, message: string, outcome: "refused" | "failed" = "refused") {
    super(message);
    this.status = status;
    this.phrase = phrase;
    this.outcome = outcome;
  }
}
