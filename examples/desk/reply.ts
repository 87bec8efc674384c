import { z } from "zod";

/** Each answer of the desk: words for the agent of the support, and what was paid back, for the books. */
export const Reply = z.object({
  reply: z.string().describe("for the person at the desk, in one or two sentences"),
  refunded: z.array(z.object({ order: z.string(), euros: z.number() })).describe("all refunds of the conversation"),
});
