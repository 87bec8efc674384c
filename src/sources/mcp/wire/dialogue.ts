import type { PortcullisError } from "../../../base/index.ts";
import type { AllowedQuestion } from "../../../tools/tool.ts";
import type { Ask, Question } from "../elicitation.ts";
import { MalformedMessage } from "./wire.ts";

/** Requests of a call: the first request, and the requests that answer questions of the server. */
const ROUNDS = 10;
/** Questions that an approver is asked in a call. Further questions are declined. */
const QUESTIONS = 16;

/**
 * What a server asks in the midst of a call, over all requests of the call. Questions are asked one after the other. Once
 * an approver has declined a question, the approver is asked no other, and a further question ends the call.
 */
export class Dialogue {
  readonly #ask: Ask;
  readonly #declined: () => PortcullisError;
  readonly #ended = new AbortController();
  #rounds = 1;
  #questions = 0;
  #isDeclined = false;
  #last: Promise<unknown> = Promise.resolve();

  /** `declined` makes the error of a call that ends because the server asks again. */
  constructor(ask: Ask, declined: () => PortcullisError) {
    this.#ask = ask;
    this.#declined = declined;
  }

  /** Whether the server has asked for anything: such a call is not repeated, because it would ask again. */
  get hasBegun(): boolean {
    return this.#rounds > 1 || this.#questions > 0;
  }

  /** Aborted when the call is ended, with the error that the program gets. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Counts a request for more input in place of a result. Throws if the call ends. */
  countRound(): void {
    this.#refuseAfterDecline();
    if (this.#rounds === ROUNDS) throw new MalformedMessage(`The server asked for more input ${ROUNDS} times.`);
    this.#rounds += 1;
  }

  /** Has a question decided, after the earlier questions. */
  readonly ask = async (question: Question): Promise<AllowedQuestion | false> => {
    this.#refuseAfterDecline();
    this.#questions += 1;
    if (this.#questions > QUESTIONS) return false;
    const decided = this.#last.then(() => (this.#isDeclined ? false : this.#ask(question)));
    this.#last = decided.catch(() => {});
    const allowed = await decided;
    if (allowed === false) this.#isDeclined = true;
    return allowed;
  };

  #refuseAfterDecline(): void {
    if (!this.#isDeclined) return;
    const error = this.#declined();
    this.#ended.abort(error);
    throw error;
  }
}
