import type { DatabaseSync } from "node:sqlite";
import { cancel, every, type Timer } from "../../clock.ts";
import { AppendListeners } from "../append-listeners.ts";

/** How often a file is looked at for appends of other connections, in milliseconds. It takes some microseconds. */
const LOOK_MS = 50;

/**
 * Listeners of a file that other connections write too, of this process or others. SQLite tells no one: it counts their
 * commits, and what they appended to is not known. The file is looked at only while there are listeners.
 */
export function listenForOthers(database: DatabaseSync): AppendListeners {
  let looking: Timer | undefined;
  let version: unknown;
  const versionNow = (): unknown => {
    try {
      return database.prepare("PRAGMA data_version").get()?.["data_version"];
    } catch {
      // The file is locked: the next look tells.
      return version;
    }
  };
  const look = () => {
    if (!database.isOpen) return cancel(looking);
    const now = versionNow();
    if (now === version) return;
    version = now;
    listeners.tell({});
  };
  const listeners = new AppendListeners(
    () => {
      version = database.isOpen ? versionNow() : undefined;
      looking = every(LOOK_MS, look);
      looking.unref();
    },
    () => cancel(looking),
  );
  return listeners;
}
