import { messageText } from "../../../conversations/prompt/said-message.ts";
import type { Journal } from "../../../journal/journal.ts";
import { type ReadingOptions, readRecords } from "../../../journal/reading/index.ts";
import type { Header } from "../../../journal/record.ts";
import { titleOf } from "../title.ts";

/** Records after the header among which the first message is: of a driver, a model or the first message itself. */
const LOOKED_AT = 8;

/**
 * What the user of a conversation said first, if it was begun without a task; empty if nothing was said yet. Rejects as the
 * journal does, and with `journal_invalid` for a message that cannot be read.
 */
export async function firstMessage(
  journal: Journal,
  header: Header,
  options: Pick<ReadingOptions, "onLength" | "budget"> = {},
): Promise<string> {
  if (header.kind !== "conversation" || header.task !== "") return "";
  const { execution, tenant } = header;
  // Loaded on demand: loading the schema library takes as long as running a program.
  const { readContent } = await import("../../../conversations/from-journal/parse-message.ts");
  const records = readRecords(journal, execution, { ...options, tenant, from: 1, count: LOOKED_AT });
  for await (const record of records) {
    if (record.type !== "message") continue;
    const content = await records.lane.work(readContent(record));
    const message = content && "said" in content ? content.said.find(({ by }) => by === "user") : undefined;
    return message ? messageText(message.message) : "";
  }
  return "";
}

/** `titleOf`, for a reader that has no more than the header. */
export async function titleIn(journal: Journal, header: Header): Promise<string> {
  return titleOf(header, await firstMessage(journal, header));
}
