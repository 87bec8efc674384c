import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file system in memory, on Linux. In a container it may be small. */
const MEMORY = "/dev/shm";
const ROOM_BYTES = 4 * 1024 ** 3;
const made: string[] = [];

/**
 * A new folder for journals to which much is appended. A journal waits for the disk with each append, and on a busy disk
 * a test takes many times as long by that. A process that is killed leaves the same file in memory as on a disk.
 */
export function memoryFolder(prefix: string): string {
  const folder = mkdtempSync(join(hasRoom() ? MEMORY : tmpdir(), prefix));
  if (made.push(folder) === 1) process.on("exit", removeAll);
  return folder;
}

/** What a failed test has left would stay in memory. */
function removeAll(): void {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= ROOM_BYTES;
  } catch {
    return false;
  }
}
