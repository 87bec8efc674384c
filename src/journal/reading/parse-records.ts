import { describe, isAnyObject, PortcullisError } from "../../base/index.ts";
import { type Header, JOURNAL_FORMAT, type JournalRecord } from "../record.ts";
import { RECORD_SCHEMAS } from "../record-schemas.ts";

/**
 * Validates one execution's records from an untrusted source such as a file: a header first, then records of known
 * types with exactly their fields. Throws `journal_invalid` with the index of the first invalid record, from 0, and
 * `journal_version` for another format.
 */
export function parseRecords(values: unknown): readonly [Header, ...JournalRecord[]] {
  if (!Array.isArray(values))
    throw invalid(`expected the records of one execution, the header first, got ${describe(values)}`);
  const parser = recordsParser();
  const [, ...others] = values.map((value) => parser.next(value));
  return [parser.end(), ...others];
}

/** Validates the records of one execution one after the other. Throws like `parseRecords`. */
export function recordsParser() {
  let header: Header | undefined;
  let hasOutcome = false;
  let count = 0;
  return {
    next(value: unknown): JournalRecord {
      const index = count;
      const record = parseRecord(value, index);
      count += 1;
      if (record.type !== "header") {
        if (header === undefined) throw invalid(`record 0: expected a header, got a ${record.type}`);
        if (record.type === "outcome" && hasOutcome) throw invalid(`record ${index}: an execution has one outcome`);
        hasOutcome ||= record.type === "outcome";
        return record;
      }
      if (header !== undefined) throw invalid(`record ${index}: an execution has one header`);
      header = record;
      return record;
    },

    /** The header, after the last record. */
    end(): Header {
      if (header === undefined) throw invalid("expected the records of one execution, the header first, got no record");
      return header;
    },
  };
}

/** Validates the record at this index of an execution. Throws like `parseRecords`. */
export function parseRecord(value: unknown, index: number): JournalRecord {
  const { type, kind, format } = isAnyObject(value) ? (value as Partial<Header>) : {};
  if (type === "header" && format !== JOURNAL_FORMAT)
    throw new PortcullisError(
      "journal_version",
      `The journal has format ${describe(format)}, and this version of portcullis reads format ${JOURNAL_FORMAT}. Read it with the version that wrote it.`,
    );
  const name: unknown = type === "header" ? `header (${typeof kind === "string" ? kind : describe(kind)})` : type;
  if (typeof name !== "string" || !Object.hasOwn(RECORD_SCHEMAS, name))
    throw invalid(`record ${index}: there is no record of type ${describe(name)}`);
  const parsed = RECORD_SCHEMAS[name as keyof typeof RECORD_SCHEMAS].safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = issue && issue.path.length > 0 ? ` (${issue.path.map(String).join(".")})` : "";
  throw invalid(`record ${index}, ${name}${path}: ${issue?.message ?? "it is invalid"}`);
}

function invalid(why: string): PortcullisError {
  return new PortcullisError("journal_invalid", `These are not the records of an execution: ${why}.`);
}
