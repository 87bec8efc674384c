import { PortcullisError } from "../errors.ts";
import type { Journal } from "./journal.ts";
import { lineInvalid } from "./read-lines.ts";
import type { JournalRecord } from "./record.ts";

/**
 * Executions as JSON lines: one record a line, the header of an execution first, without the line ends. The same
 * records give the same lines, whatever store they come from. Rejects with `execution_unknown`.
 */
export async function* exportLines(
  journal: Journal,
  executions: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<string> {
  const { parseRecord } = await import("./parse-records.ts");
  for await (const execution of executions) {
    let position = 0;
    for await (const record of journal.read(execution)) {
      // Parsing gives the fields of a record one order, whatever order the store keeps.
      yield JSON.stringify(parseRecord(record, position));
      position += 1;
    }
  }
}

/**
 * Adds the executions of JSON lines to a journal and yields the id of each as soon as it is there. Each is checked whole
 * before anything of it is written. Rejects with `journal_invalid` or `journal_version`, naming the line, and with
 * `execution_exists` for an id that the journal already holds; what was added before stays.
 */
export async function* importLines(journal: Journal, lines: AsyncIterable<string>): AsyncGenerator<string> {
  let records: unknown[] = [];
  let number = 0;
  let firstLine = 1;
  for await (const line of lines) {
    number += 1;
    if (line === "") continue;
    const record = parseLine(line, number);
    if (isHeader(record) && records.length > 0) {
      yield await add(journal, records, firstLine);
      records = [];
    }
    if (records.length === 0) firstLine = number;
    records.push(record);
  }
  if (records.length > 0) yield await add(journal, records, firstLine);
}

async function add(journal: Journal, values: readonly unknown[], firstLine: number): Promise<string> {
  const { parseRecords } = await import("./parse-records.ts");
  let parsed: ReturnType<typeof parseRecords>;
  try {
    parsed = parseRecords(values);
  } catch (error) {
    if (!PortcullisError.is(error)) throw error;
    throw new PortcullisError(error.code, `Lines ${firstLine} to ${firstLine + values.length - 1}: ${error.message}`, {
      cause: error,
    });
  }
  const [header, ...records] = parsed;
  const head = await journal.create(header);
  if (records.length > 0) await journal.append(header.execution, head, records, { safe: true });
  return header.execution;
}

function parseLine(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw lineInvalid(number, "it is not JSON");
  }
}

function isHeader(record: unknown): boolean {
  return typeof record === "object" && record !== null && (record as Partial<JournalRecord>).type === "header";
}
