import { expect } from "vitest";

/** An error or a failure with this code, and a message that has this text or matches this expression. */
export const failing = (code: string, message: string | RegExp) => ({
  code,
  message: (message instanceof RegExp ? expect.stringMatching(message) : expect.stringContaining(message)) as string,
});

/** The code of the error that some work fails with. */
export const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "none",
    (error: { readonly code: string }) => error.code,
  );

/** A function that fails with this error, or in these words. */
export const throws = (error: string | Error) => (): never => {
  throw typeof error === "string" ? new Error(error) : error;
};
