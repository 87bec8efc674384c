import { type BARE_COMPLETED, type Ending, JOURNAL_ENDING } from "../outcome.ts";
import type { Shape } from "../../values/shape.ts";

type PastEnding = Exclude<Ending, { type: "completed" | "waiting" }> | Shape<typeof BARE_COMPLETED>;

/** Reads the text of an outcome, which may come from elsewhere; undefined if it is no ending of a program. */
export function parseEnding(outcome: string): PastEnding | undefined {
  try {
    const parsed = JOURNAL_ENDING.safeParse(JSON.parse(outcome));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
