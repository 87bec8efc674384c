import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { hash, randomUUID } from "node:crypto";
import { type Fields, isFields, now, pause, PortcullisError } from "../../../base/index.ts";
import { MessageTooLarge } from "../wire/wire.ts";

/** Bytes of the file that are read, and of what one server gives: its answers take no room from other servers. */
const MOST_BYTES = { file: 256 * 1024, server: 32 * 1024 };

/** How long one process may have the credentials of a server for itself, in milliseconds. */
export const ALONE_MS = 20_000;
/** After this time the process that had them is gone. */
const GONE_MS = ALONE_MS + 5000;
const LOOK_MS = 50;

const NO_STORE = "it is not a file of credentials";

/** What a file keeps, by servers. */
function readServers(file: string, refused: (why: string) => PortcullisError): Fields {
  const about = statSync(file, { throwIfNoEntry: false });
  if (!about) return {};
  if (!about.isFile() || about.size > MOST_BYTES.file) throw refused(NO_STORE);
  if (process.platform !== "win32" && (about.mode & 0o077) !== 0)
    throw refused("others may read or write it. Run chmod 600, or remove it");
  let kept: unknown;
  try {
    kept = JSON.parse(readFileSync(file, "utf8"));
  } catch {
    throw refused("it is no JSON. Remove it");
  }
  if (!isFields(kept) || !isFields(kept.servers)) throw refused(NO_STORE);
  return kept.servers;
}

/** The credentials of one server, in a file that its owner alone may read. The file may have those of other servers too. */
export function tokenStore(path: string, serverUrl: string) {
  const { origin, pathname, search } = new URL(serverUrl);
  const file = resolve(path);
  // What signs in to one address is given to no other: a path or a query may lead to a server of someone else. A query may have a secret.
  const server = `${origin}${pathname}${search && `?${hash("sha256", search)}`}`;
  const refused = (why: string) =>
    new PortcullisError("option_invalid", `fromMcp({ auth: { store } }): ${file}: ${why}.`);
  return {
    /** What is kept; empty if there is none. Throws `option_invalid` for a file that others may read, or that is none of these. */
    read(): Fields {
      const servers = readServers(file, refused);
      const kept = Object.hasOwn(servers, server) ? servers[server] : {};
      if (!isFields(kept)) throw refused(NO_STORE);
      return kept;
    },

    /** Replaces the file as a whole: another process reads the old or the new one. Throws `MessageTooLarge`, and `option_invalid` for a full file. */
    write(kept: Fields): void {
      if (Buffer.byteLength(JSON.stringify(kept)) > MOST_BYTES.server)
        throw new MessageTooLarge(MOST_BYTES.server, "bytes");
      const text = `${JSON.stringify({ servers: { ...readServers(file, refused), [server]: kept } })}\n`;
      if (Buffer.byteLength(text) > MOST_BYTES.file) throw refused("it is full. Name another file");
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      const tempPath = `${file}.${randomUUID()}`;
      writeFileSync(tempPath, text, { mode: 0o600, flag: "wx" });
      chmodSync(tempPath, 0o600);
      renameSync(tempPath, file);
    },

    /** Changes what is kept of the server while no other process does: `change` takes at most `ALONE_MS`. */
    alone<Value>(change: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      return alone(`${file}.${hash("sha256", server).slice(0, 16)}.lock`, change, signal);
    },
  };
}

async function alone<Value>(lock: string, change: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
  for (; !tryLock(lock); await pause(LOOK_MS, { signal })) {
    signal.throwIfAborted();
    const at = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (at > 0 && now() - at > GONE_MS) rmSync(lock, { force: true });
  }
  try {
    return await change();
  } finally {
    rmSync(lock, { force: true });
  }
}

function tryLock(lock: string): boolean {
  try {
    writeFileSync(lock, "", { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
