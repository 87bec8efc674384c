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

function accepted<Frame>(frame: Frame | MalformedFrame, what: string): Frame {
  if (!(frame instanceof MalformedFrame)) return frame;
  throw new PortcullisError("journal_invalid", `The journal holds ${what} that cannot be read: ${frame.reason}.`);
}
