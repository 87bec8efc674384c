import { errorAt, fieldOf, hasCode, parsedJson } from "../base/index.ts";
import type { Journal } from "./journal.ts";
import { lineInvalid } from "./reading/read-lines.ts";
import { HOST, readRecords } from "./reading/read-records.ts";

/**
 * Executions as JSON lines: one record a line, the header of an execution first, without the line ends. The same
 * records give the same lines, whatever store they come from. Rejects with `execution_unknown`.
 */
export async function* exportLines(
  journal: Journal,
  executions: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<string> {
  const { parseRecord } = await import("./reading/parse-records.ts");
  for await (const execution of executions) {
    let position = 0;
    const records = readRecords(journal, execution, { ...HOST, mayWait: true });
    for await (const record of records) {
      // Parsing gives the fields of a record one order, whatever order the store keeps.
      const line = JSON.stringify(parseRecord(record, position));
      records.release();
      yield line;
      position += 1;
    }
  }
}

export interface ImportOptions {
  /** Called with the id of each execution that the journal already holds, which is then passed over. */
  readonly onExisting?: (execution: string) => void;
}

/**
 * Adds the executions of JSON lines to a journal and yields the id of each as soon as it is there. Each is checked
 * whole before it is written. Rejects with `journal_invalid` or `journal_version`, naming the line. Without
 * `onExisting` it rejects with `execution_exists` for an id that the journal already holds. What was added before
 * stays.
 */
export async function* importLines(
  journal: Pick<Journal, "create" | "append">,
  lines: AsyncIterable<string>,
  { onExisting }: ImportOptions = {},
): AsyncGenerator<string> {
  async function* addAll(): AsyncGenerator<string> {
    const [header, ...others] = await parsedLines(records, firstLine);
    const { execution } = header;
    try {
      const head = await journal.create(header);
      if (others.length > 0) await journal.append(execution, head, others, { safe: true });
    } catch (error) {
      if (!onExisting || !hasCode(error, "execution_exists")) throw error;
      return onExisting(execution);
    }
    yield execution;
  }
  let records: unknown[] = [];
  let number = 0;
  let firstLine = 1;
  for await (const line of lines) {
    number += 1;
    if (line === "") continue;
    const record = parsedJson(line);
    if (record === undefined) throw lineInvalid(number, "it is not JSON");
    if (fieldOf(record, "type") === "header" && records.length > 0) {
      yield* addAll();
      records = [];
    }
    if (records.length === 0) firstLine = number;
    records.push(record);
  }
  if (records.length > 0) yield* addAll();
}

async function parsedLines(values: readonly unknown[], firstLine: number) {
  const { parseRecords } = await import("./reading/parse-records.ts");
  try {
    return parseRecords(values);
  } catch (error) {
    throw errorAt(`Lines ${firstLine} to ${firstLine + values.length - 1}`, error);
  }
}
