import { PortcullisError } from "../errors.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { Journal } from "../journal/journal.ts";
import type { Header } from "../journal/record.ts";
import { drivenHere } from "./driven-here.ts";
import type { Scope } from "./scope.ts";

/** How something is run under an id of the caller's choice. */
export interface OnceParts<Ended> {
  readonly execution: ExecutionId;
  /** The properties that tell it from others, for the error: `program, language or tenant`. */
  readonly what: string;
  /** The program or the task. */
  readonly text: string;
  /** Rejects with `execution_exists` if the id is taken. */
  readonly begin: () => Promise<() => Promise<Ended>>;
  /** Whether the execution under the id is the same work. `isText` tells whether a text of the journal is the program or the task. */
  readonly isSame: (header: Header, isText: (journalled: string) => boolean) => boolean;
  /** Takes it up, or reads its report. */
  readonly goOn: () => Promise<Ended>;
}

/**
 * Runs something under an id: the same id again joins what runs here, goes on with what was left, or gives the report of
 * what has ended or waits. Rejects with `execution_exists` for other work, or another caller's or tenant's, under the id.
 */
export async function once<Ended>(
  { journal, above, tenant, redactor }: Pick<Scope, "journal" | "above" | "tenant" | "redactor">,
  { execution, what, text, begin, isSame, goOn }: OnceParts<Ended>,
): Promise<Ended> {
  const drive = await begin().catch((error: unknown) => {
    if (PortcullisError.is(error) && error.code === "execution_exists") return undefined;
    throw error;
  });
  if (drive) return drive();
  const header = await headerOf(journal, execution);
  const isOwn = header?.tenant === tenant;
  const isOfCaller = header?.parent?.execution === above?.execution && header?.parent?.call === above?.callId;
  const redacted = header?.redacted === undefined ? undefined : await redactor?.text(text, { to: "journal" });
  // A text that was redacted as a whole could be any text.
  const written = redacted && redacted.taken < text.length ? redacted.text : text;
  const isText = (journalled: string) => journalled === text || journalled === written;
  if (!header || !isOwn || !isOfCaller || !isSame(header, isText))
    throw new PortcullisError(
      "execution_exists",
      `There is another execution ${JSON.stringify(execution)} already: its ${what} differs. Choose another id.`,
    );
  return drivenHere<Ended>(journal, execution)?.ended ?? goOn();
}

/** The first record of an execution. */
export async function headerOf(journal: Journal, execution: ExecutionId): Promise<Header | undefined> {
  for await (const record of journal.read(execution)) return record.type === "header" ? record : undefined;
  return undefined;
}
