import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { EXIT } from "../../exit-code.ts";
import { Failure } from "../../failure.ts";

const WRITABLE_BY_ALL = 0o002;
/** The bit that keeps the entries of a folder to their owners. */
const STICKY = 0o1000;

/**
 * Throws a `Failure` if any user of this machine could have made or could replace this folder, or write to it: what is in
 * it, tools and the scripts of a package, runs as the user who starts it. Folders that are not there yet are not looked at.
 */
export function refuseShared(folder: string): void {
  const whole = resolve(folder);
  if (isWritableByAll(whole)) throw shared(folder, `all users of this machine may write to ${whole}`);
  for (let path = whole, above = dirname(path); path !== above; [path, above] = [above, dirname(above)]) {
    if (!isWritableByAll(above)) continue;
    if (!isSticky(above)) throw shared(folder, `all users of this machine may replace what is in ${above}`);
    if (isOfAnother(path)) throw shared(folder, `${path} belongs to another user, who could change the files`);
  }
}

/** Whether all users of this machine may write to a folder; false if it is not there. */
function isWritableByAll(folder: string): boolean {
  return hasBits(folder, WRITABLE_BY_ALL);
}

function isSticky(folder: string): boolean {
  return hasBits(folder, STICKY);
}

function isOfAnother(path: string): boolean {
  const uid = found(path)?.uid ?? 0;
  return uid !== 0 && uid !== process.geteuid?.();
}

function hasBits(path: string, bits: number): boolean {
  // oxlint-disable-next-line no-bitwise -- the bits of a mode
  return ((found(path)?.mode ?? 0) & bits) !== 0;
}

/** Undefined if there is nothing, if it cannot be looked up, or where modes say nothing of other users. */
function found(path: string) {
  if (process.geteuid === undefined) return undefined;
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // Making the folder says why it cannot be looked up.
    return undefined;
  }
}

function shared(folder: string, why: string): Failure {
  return new Failure(
    EXIT.usage,
    `init: ${folder} is no folder of your own: ${why}. Nothing was written. Name another.`,
  );
}
