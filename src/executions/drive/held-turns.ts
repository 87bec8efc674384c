import type { GuestTurn } from "../../../bridge/turn-reader.ts";
import type { GateSession } from "../../gate/session.ts";
import type { HeldOverdraft, Share, SlicedWork } from "../../base/index.ts";
import type { GuestEvent } from "../guest/guest-event.ts";
import { COMMANDS_PER_SLICE } from "../from-journal/tracked-log.ts";

/** Memory of a command beyond its text, and of the record of a batch of a stream, in bytes. */
const COMMAND_BYTES = 256;

/**
 * Counts what an execution's turns make the host hold. A journal in memory holds every command until the execution has
 * ended. With a durable journal the host holds the commands that open a call or a timer, until it is closed, what was
 * printed, and the value.
 */
export function heldTurns(share: Share, isDurable: boolean) {
  /** Bytes of the command that opened a call or a timer, by its id; empty without a durable journal. */
  const open = new Map<number, number>();
  /** Held bytes that the host need not hold once the journal has the turns. */
  let storedBytes = 0;

  function close(id: number): number {
    const bytes = open.get(id) ?? 0;
    open.delete(id);
    return bytes;
  }

  return {
    /** Counts turns, each with the event that began it. Returns the exceeded limit if there is no room. */
    *take(turns: readonly (readonly [GuestEvent, GuestTurn])[]): SlicedWork<HeldOverdraft | undefined> {
      let heldBytes = 0;
      for (const [{ head }, { commands, sizes }] of turns) {
        if (isDurable && "id" in head && head.kind !== "items") storedBytes += close(head.id);
        // A journal in memory keeps a record of each batch, with its items or without.
        if (!isDurable && head.kind === "items") heldBytes += COMMAND_BYTES;
        let count = 0;
        for (const command of commands) {
          const bytes = (sizes[count] ?? 0) + COMMAND_BYTES;
          count += 1;
          heldBytes += bytes;
          if (isDurable) {
            if (command.kind === "call" || command.kind === "timer") open.set(command.id, bytes);
            // What was printed is held to its end, to be kept.
            else if (command.kind !== "settled" && command.kind !== "output") storedBytes += bytes;
            if (command.kind === "clear" || command.kind === "cancel") storedBytes += close(command.id);
          }
          if (count % COMMANDS_PER_SLICE === 0) yield;
        }
      }
      return share.hold(heldBytes);
    },

    /**
     * The journal holds these turns, and the program has read their answers. With a durable journal the host holds them no
     * more.
     */
    noteStored(turns: readonly (readonly [GuestEvent, GuestTurn])[], session: Pick<GateSession, "noteRead">): void {
      share.giveBack(storedBytes);
      storedBytes = 0;
      for (const [{ head, heldBytes = 0, recorded }] of turns) {
        if (head.kind === "items") {
          session.noteRead(String(head.id), heldBytes);
          if (isDurable || recorded) share.giveBack(heldBytes);
        }
        if (head.kind !== "answer") continue;
        const bytes = session.noteRead(String(head.id));
        if (isDurable) share.giveBack(bytes);
      }
    },
  };
}

export type HeldTurns = ReturnType<typeof heldTurns>;
