import { expect } from "vitest";

/** An error or a failure with this code, and a message that has this text or matches this expression. */
export const failing = (code: string, message: string | RegExp) => ({
  code,
  message: (message instanceof RegExp ? expect.stringMatching(message) : expect.stringContaining(message)) as string,
});

/** A function that fails with this error, or in these words. */
export const throws = (error: string | Error) => (): never => {
  throw typeof error === "string" ? new Error(error) : error;
};
