import { type ExecutionId, hasCode, PortcullisError } from "../base/index.ts";
import { readHeader } from "../journal/reading/read-records.ts";
import type { Header, Owner } from "../journal/record.ts";
import { drivenHere } from "./driven.ts";
import type { Scope } from "./scope.ts";

export interface WorkUnderId<Ended> {
  readonly execution: ExecutionId;
  /** The properties that tell the work from other work, for the error: `program, language or tenant`. */
  readonly what: string;
  readonly text: string;
  /** Rejects with `execution_exists` if the id is taken. */
  readonly begin: () => Promise<() => Promise<Ended>>;
  /** Whether the execution under the id is the same work. `isText` tells whether a text of the journal is the program or the task. */
  readonly isSame: (header: Header, isText: (journalled: string) => boolean) => boolean;
  readonly goOn: () => Promise<Ended>;
}

/**
 * Runs something under an id: the same id again joins the execution if it runs here, goes on with it if it was left, or
 * gives its report if it has ended or waits. Rejects with `execution_exists` for other work, or another caller's or
 * tenant's, under the id.
 */
export async function runUnderId<Ended>(
  scope: Pick<Scope, "journal" | "above" | "tenant" | "redactor" | "owner">,
  { begin, goOn, ...work }: WorkUnderId<Ended>,
): Promise<Ended> {
  const drive = await begin().catch((error: unknown) => {
    if (hasCode(error, "execution_exists")) return undefined;
    throw error;
  });
  if (drive) return drive();
  await refuseOther(scope, work);
  return drivenHere<Ended>(scope.journal, work.execution)?.ended ?? goOn();
}

/** Whether a server's client asks with other settings than an execution was begun with. */
export function isAskedOtherwise({ owner }: Pick<Header, "owner">, { settings }: Partial<Owner> = {}): boolean {
  return settings !== undefined && settings !== owner?.settings;
}

/** Rejects with `execution_exists` if the execution under the id is other work, or another caller's or tenant's. */
export async function refuseOther(
  { journal, above, tenant, redactor, owner }: Pick<Scope, "journal" | "above" | "tenant" | "redactor" | "owner">,
  { execution, what, text, isSame }: Pick<WorkUnderId<unknown>, "execution" | "what" | "text" | "isSame">,
): Promise<void> {
  const header = await readHeader(journal, execution, { tenant });
  const isOwn = header?.tenant === tenant;
  const isOfCaller = header?.parent?.execution === above?.execution && header?.parent?.call === above?.callId;
  const redacted = header?.redacted === undefined ? undefined : await redactor?.text(text, { to: "journal" });
  // A text that was redacted as a whole could be any text.
  const written = redacted && redacted.count < text.length ? redacted.text : text;
  const isText = (journalled: string) => journalled === text || journalled === written;
  if (!header || !isOwn || !isOfCaller || isAskedOtherwise(header, owner) || !isSame(header, isText))
    throw new PortcullisError(
      "execution_exists",
      `There is another execution ${JSON.stringify(execution)} already: its ${what} differs. Choose another id.`,
    );
}
