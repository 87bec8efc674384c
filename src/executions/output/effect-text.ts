import type { Effect } from "../../tools/tool.ts";

/** What a call changes, for a person who decides about it. */
export const CHANGES: Readonly<Record<Effect, string>> = {
  read: "It changes nothing.",
  idempotent: "It changes something; repeating it changes nothing more.",
  write: "It changes something each time.",
};
