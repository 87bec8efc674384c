import { execFile } from "node:child_process";
import { chmodSync, constants, mkdirSync, mkdtempSync, openSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { hostProcess, isGone } from "../host-process.ts";

const run = promisify(execFile);

const PREFIX = "portcullis-bridge-";
/** How long it may take to make two pipes, in milliseconds. */
const MAKING_MS = 5000;

/**
 * Two named pipes in a folder of their own, which a container on this machine gets to see as `/bridge`: the way from
 * host to guest without the engine between them, three times as fast. What crosses is the same.
 */
export class BridgePipes {
  readonly folder: string;
  readonly fromGuest: Socket;
  readonly toGuest: Socket;

  private constructor(folder: string) {
    this.folder = folder;
    this.fromGuest = new Socket({ fd: openPipe(join(folder, "out")), readable: true, writable: false });
    this.toGuest = new Socket({ fd: openPipe(join(folder, "in")), readable: false, writable: true });
  }

  static async make(): Promise<BridgePipes> {
    // Other users of this machine may not come past the outer folder. The engine binds the inner one.
    const outer = join(tmpdir(), `${PREFIX}${hostProcess()}`);
    mkdirSync(outer, { recursive: true, mode: 0o700 });
    const folder = mkdtempSync(join(outer, "c"));
    try {
      chmodSync(folder, 0o711);
      await run("mkfifo", ["-m", "666", join(folder, "in"), join(folder, "out")], { timeout: MAKING_MS });
      return new BridgePipes(folder);
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  close(): void {
    this.fromGuest.destroy();
    this.toGuest.destroy();
    rmSync(this.folder, { recursive: true, force: true });
    try {
      rmdirSync(dirname(this.folder));
    } catch {
      // Other containers of this process still have theirs in it.
    }
  }
}

/** For both directions, so that it opens at once, and does not end before its other side has begun. */
function openPipe(path: string): number {
  return openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
}

/** Removes pipes of hosts that are gone. */
export function removeLeftPipes(): void {
  for (const name of readdirSync(tmpdir()))
    if (name.startsWith(PREFIX) && isGone(name.slice(PREFIX.length)))
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
}
