/** What a Ctrl-C did. */
export type Pressed = "interrupted" | "armed" | "ended";

/** Ctrl-C in a conversation: it interrupts what is under way, and the second one, before anything else was typed, ends. */
export class ControlC {
  readonly #end = new AbortController();
  #interrupt: (() => void) | undefined;
  #isArmed = false;

  /** Aborted when the conversation is to end. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  /** What the next Ctrl-C interrupts; nothing if it is undefined. */
  set interrupts(interrupt: (() => void) | undefined) {
    this.#interrupt = interrupt;
  }

  /** The person goes on: the next Ctrl-C is the first one again. */
  disarm(): void {
    this.#isArmed = false;
  }

  press(): Pressed {
    if (this.#isArmed) {
      this.#end.abort();
      return "ended";
    }
    this.#isArmed = true;
    this.#interrupt?.();
    return this.#interrupt ? "interrupted" : "armed";
  }
}
