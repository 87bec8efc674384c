import type { Failure, FailureCode } from "../answer.ts";

/** Length of a sentence that another process gives, in UTF-16 code units. */
const LONGEST = 4000;

/** Errors of the classes below. What a handler throws may be a proxy that throws when it is looked at: this does not ask it. */
const [elsewhere, unknown] = [new WeakSet(), new WeakSet()];

/** Thrown by a handler whose call another gate has answered: the caller gets that failure. */
export class FailedElsewhere extends Error {
  readonly code: FailureCode;
  /** What the other handler gave with its failure, as JSON text. */
  readonly value: string | undefined;

  constructor(code: FailureCode, message: string, value?: string) {
    super(message.slice(0, LONGEST));
    elsewhere.add(this);
    this.code = code;
    this.value = value;
  }

  static is(thrown: unknown): thrown is FailedElsewhere {
    return typeof thrown === "object" && thrown !== null && elsewhere.has(thrown);
  }

  failureOf(tool: string): Failure {
    const { code, message, value } = this;
    return { ok: false, code, tool, message, ...(value === undefined ? {} : { value }) };
  }
}

/** Thrown by a handler that cannot tell whether its call took effect: what is done then, the tool's `onUnknown` says. */
export class OutcomeUnknown extends Error {
  constructor(...given: ConstructorParameters<typeof Error>) {
    super(...given);
    unknown.add(this);
  }

  static is(thrown: unknown): thrown is OutcomeUnknown {
    return typeof thrown === "object" && thrown !== null && unknown.has(thrown);
  }
}
