import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { hostProcess, isGone } from "../host-process.ts";

const PREFIX = "portcullis-mounts-";

/** A new folder that one container of this process gets to see. Other users of this machine may not come near it. */
export function makeMountedFolder(): string {
  const outer = join(tmpdir(), `${PREFIX}${hostProcess()}`);
  mkdirSync(outer, { recursive: true, mode: 0o700 });
  // The engine binds the inner one, whose user is another.
  const folder = mkdtempSync(join(outer, "c"));
  chmodSync(folder, 0o711);
  return folder;
}

export function removeMountedFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  try {
    rmdirSync(dirname(folder));
  } catch {
    // Other containers of this process still have theirs in it.
  }
}

/** Removes folders of hosts that are gone. */
export function removeLeftFolders(): void {
  for (const name of readdirSync(tmpdir()))
    if (name.startsWith(PREFIX) && isGone(name.slice(PREFIX.length)))
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
}
