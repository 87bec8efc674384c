import { optionError } from "../../errors.ts";

const SANDBOXES = ["isolate", "docker"] as const;

/** The sandbox that `--sandbox` names. */
export function parseSandbox(name: string): (typeof SANDBOXES)[number] {
  const found = SANDBOXES.find((sandbox) => sandbox === name);
  if (found === undefined) throw optionError("--sandbox", SANDBOXES.join(" or "), name);
  return found;
}
