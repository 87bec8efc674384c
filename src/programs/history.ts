import type { GuestFrame, HostFrame } from "../../bridge/frames.ts";
import { MalformedFrame, parseGuestFrame, parseHostFrame } from "../../bridge/parse-frame.ts";
import { PortcullisError } from "../errors.ts";
import type { JournalRecord, TurnRecord } from "../journal/record.ts";

/** A journalled turn with its frames parsed. */
export interface PastTurn {
  readonly event: HostFrame;
  readonly commands: readonly GuestFrame[];
}

/**
 * Reads a journalled turn. A journal may come from a file, so its frames are parsed as strictly as those of the bridge.
 * Throws `journal_invalid` for a malformed frame.
 */
export function readTurn({ event, commands }: TurnRecord): PastTurn {
  return {
    event: readEvent(event),
    commands: commands.map((command) => accepted(parseGuestFrame(command), "a command")),
  };
}

/** Reads a journalled event. Throws `journal_invalid` for a malformed frame. */
export function readEvent(text: string): HostFrame {
  return accepted(parseHostFrame(text), "an event");
}

/** The turns of an execution, in order. */
export function pastTurns(records: readonly JournalRecord[]): PastTurn[] {
  return records.flatMap((record) => (record.type === "turn" ? [readTurn(record)] : []));
}

/** Runs what reads a record, and names the execution and the record in its `journal_invalid`. */
export function readingRecord<Value>(execution: string | undefined, index: number, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (!PortcullisError.is(error) || error.code !== "journal_invalid") throw error;
    throw invalidAt(execution, index, error.message, error);
  }
}

/** The error about a record that cannot be read. */
export function invalidAt(execution: string | undefined, index: number, why: string, cause?: unknown): PortcullisError {
  return new PortcullisError(
    "journal_invalid",
    `Execution ${JSON.stringify(execution ?? "")}, record ${index}: ${why.replace(/\.$/, "")}. Restore the journal from a backup, or import it again.`,
    { cause },
  );
}

function accepted<Frame>(frame: Frame | MalformedFrame, what: string): Frame {
  if (!(frame instanceof MalformedFrame)) return frame;
  throw new PortcullisError("journal_invalid", `The journal holds ${what} that cannot be read: ${frame.reason}.`);
}
