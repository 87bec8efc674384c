import { readFileSync, statSync } from "node:fs";
import { every } from "../../base/index.ts";
import { isLoopback } from "../../serve/http/allowed-hosts.ts";
import { parseKeys } from "../../serve/http/keys.ts";
import { EXIT } from "../exit-code.ts";
import { causeOf, Failure } from "../failure.ts";
import { oneLine } from "../terminal/one-line.ts";
import { writeStderr } from "../terminal/standard-streams.ts";

const READABLE_BY_OTHERS = 0o044;
const KEYS_BYTES = 1024 * 1024;

/** The text of a file of keys, which are valid. Warns if others can read keys in it. */
export function readDoorKeys(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isFile())
    throw new Failure(
      EXIT.usage,
      `--keys: there is no file ${path}. Create it with: portcullis key add ID --keys ${path}`,
    );
  if (found.size > KEYS_BYTES)
    throw new Failure(EXIT.usage, `--keys: ${path} has ${found.size} bytes, at most ${KEYS_BYTES} are read.`);
  const text = readFileSync(path, "utf8");
  const keys = parseKeys(`--keys: ${path}`, text);
  if (process.platform !== "win32" && (found.mode & READABLE_BY_OTHERS) !== 0 && keys.all.some((key) => key.isPlain))
    writeStderr(
      `portcullis: --keys: other users can read the keys in ${oneLine(path)}: chmod 600, or give their SHA-256 as hash.\n`,
    );
  return text;
}

/** Refuses an address that others could reach without a key. */
export function refuseOpen(host: string | undefined, keys: string | undefined): void {
  if (host !== undefined && keys === undefined && !isLoopback(host))
    throw new Failure(
      EXIT.usage,
      `--host: ${oneLine(host)} can be reached by others: add --keys FILE, or leave out --host to serve this machine only.`,
    );
}

/** How often a file of keys is looked at, in milliseconds. */
const LOOK_MS = 2000;

/**
 * Follows a file of keys, of which this text is known, until it is disposed of. `onChange` is called with the text of
 * the file whenever it has changed; `onUnread` once with each reason why it cannot be read. Reading is tried again.
 */
export function watchDoorKeys(
  path: string,
  known: string,
  onChange: (text: string) => void,
  onUnread: (reason: string) => void,
): Disposable {
  let text = known;
  let stamp: string | undefined;
  let told: string | undefined;
  const look = () => {
    try {
      const now = stampOf(path);
      if (now === stamp) return;
      const read = readFileSync(path, "utf8");
      [stamp, told] = [now, undefined];
      if (read === text) return;
      text = read;
      onChange(read);
    } catch (error) {
      stamp = undefined;
      const reason = causeOf(error);
      if (reason !== told) onUnread(reason);
      told = reason;
    }
  };
  return every(LOOK_MS, look).unref();
}

/** Throws for a file that is gone, or too large to be keys. */
function stampOf(path: string): string {
  const { ino, mtimeMs, ctimeMs, size } = statSync(path);
  if (size > KEYS_BYTES) throw new Error(`it has ${size} bytes, at most ${KEYS_BYTES} are read`);
  return `${ino}:${mtimeMs}:${ctimeMs}:${size}`;
}
