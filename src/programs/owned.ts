import { PortcullisError } from "../errors.ts";
import type { ProgramHeader } from "../journal/record.ts";
import { ToolSet } from "../tools/tool-set.ts";
import type { OwnedTools, Scope } from "./scope.ts";

/** The scope of an execution: of one with an owner, with the owner's tools alone. */
export async function scopeOfOwner(scope: Scope, header: ProgramHeader): Promise<Scope> {
  if (!header.owner) return scope;
  const gone = new AbortController();
  const owned = await ownedOf(scope, header);
  const tools = owned.of(header, (reason) => gone.abort(reason));
  return {
    ...scope,
    gate: scope.gate.beside(new ToolSet(tools, "the owner's tools")),
    signal: AbortSignal.any([scope.signal, gone.signal]),
  };
}

/** Rejects with `owner_unavailable`: an execution is not claimed whose calls would find no owner. */
export async function refuseWithoutOwner(scope: Scope, header: ProgramHeader): Promise<void> {
  if (!header.owner) return;
  const owned = await ownedOf(scope, header);
  await owned.check(header, scope.signal);
}

async function ownedOf({ owned }: Scope, { execution }: ProgramHeader): Promise<OwnedTools> {
  if (owned) return owned();
  throw new PortcullisError(
    "owner_unavailable",
    `Execution ${JSON.stringify(execution)} has an owner, which this runtime cannot call.`,
  );
}
