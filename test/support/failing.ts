import { expect } from "vitest";

/** An error or a failure with this code, and a message that has this text or matches this expression. */
export const failing = (code: string, message: string | RegExp) => ({
  code,
  message: (message instanceof RegExp ? expect.stringMatching(message) : expect.stringContaining(message)) as string,
});
