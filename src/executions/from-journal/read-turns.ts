import type { GuestFrame, HostFrame } from "../../../bridge/frames.ts";
import { MalformedFrame, parseGuestFrame, parseHostFrame } from "../../../bridge/parse-frame.ts";
import { hasCode, PortcullisError, type SlicedWork } from "../../base/index.ts";
import type { JournalRecord, TurnRecord } from "../../journal/record.ts";

export interface PastTurn {
  readonly event: HostFrame;
  readonly commands: readonly GuestFrame[];
}

/** Reads a journalled turn as strictly as the bridge: a journal may be foreign. Throws `journal_invalid`. */
export function readTurn({ event, commands }: TurnRecord): PastTurn {
  return {
    event: readEvent(event),
    commands: commands.map((command) => accepted(parseGuestFrame(command), "a command")),
  };
}

/** Like `readTurn`, in slices: a turn may have a hundred thousand commands. */
export function* readTurnSliced({ event, commands }: TurnRecord): SlicedWork<PastTurn> {
  const read: GuestFrame[] = [];
  yield* eachSliced(commands, (command) => read.push(accepted(parseGuestFrame(command), "a command")));
  return { event: readEvent(event), commands: read };
}

/** Commands that are read between two checks whether the host's thread must be yielded. */
const COMMANDS_READ = 16;

export function* eachSliced<Item>(items: readonly Item[], take: (item: Item) => void): SlicedWork<void> {
  for (const [index, item] of items.entries()) {
    take(item);
    if (index % COMMANDS_READ === 0) yield;
  }
}

/** Reads a journalled event. Throws `journal_invalid` for a malformed frame. */
export function readEvent(text: string): HostFrame {
  return accepted(parseHostFrame(text), "an event");
}

export function pastTurns(records: readonly JournalRecord[]): PastTurn[] {
  return records.flatMap((record) => (record.type === "turn" ? [readTurn(record)] : []));
}

/** Does work that reads a record in slices, and names the execution and the record in its `journal_invalid`. */
export function* readingSliced<Value>(
  execution: string | undefined,
  index: number,
  work: SlicedWork<Value>,
): SlicedWork<Value> {
  try {
    return yield* work;
  } catch (error) {
    if (!hasCode(error, "journal_invalid")) throw error;
    throw invalidAt(execution, index, error.message, error);
  }
}

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
