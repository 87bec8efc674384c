import { hash } from "node:crypto";
import type { ExecutionId } from "../../base/index.ts";
import { ifKnown } from "../../journal/find-if-known.ts";
import type { Journal } from "../../journal/journal.ts";
import { readHeader } from "../../journal/reading/read-records.ts";
import type { Header } from "../../journal/record.ts";

/**
 * Id of the execution or conversation that a call has started: the same for the same call, so that a driver that takes
 * the caller over finds it. It has the form of a UUID.
 */
export function childExecution(execution: ExecutionId, callId: string): ExecutionId {
  const digest = hash("sha256", `${execution}/${callId}`).slice(0, 32);
  return digest.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/**
 * The header of what a call has started; undefined if it has started nothing. Another execution may have the same id:
 * callers choose ids, and journals are imported.
 */
export async function startedBy(
  journal: Journal,
  { execution, tenant }: Pick<Header, "execution" | "tenant">,
  call: string,
): Promise<Header | undefined> {
  const header = await ifKnown(() => readHeader(journal, childExecution(execution, call), { tenant }));
  const { parent } = header ?? {};
  return header?.tenant === tenant && parent?.execution === execution && parent.call === call ? header : undefined;
}
