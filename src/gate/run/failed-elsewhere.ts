import type { Failure, FailureCode } from "../answer.ts";

/** Length of a sentence that another process gives, in UTF-16 code units. */
const LONGEST = 4000;

/** Thrown by a handler whose call another gate has answered: the caller gets that failure. */
export class FailedElsewhere extends Error {
  readonly code: FailureCode;
  /** What the other handler gave with its failure, as JSON text. */
  readonly value: string | undefined;

  constructor(code: FailureCode, message: string, value?: string) {
    super(message.slice(0, LONGEST));
    this.code = code;
    this.value = value;
  }

  failureOf(tool: string): Failure {
    const { code, message, value } = this;
    return { ok: false, code, tool, message, ...(value === undefined ? {} : { value }) };
  }
}

/** Thrown by a handler that cannot tell whether its call took effect: what is done then, the tool's `onUnknown` says. */
export class OutcomeUnknown extends Error {}
