import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { randomUUID } from "node:crypto";
import { PortcullisError } from "../../../errors.ts";
import { type Fields, isFields } from "../../../values/fields.ts";

/** Bytes of the file that are read. */
const MOST_BYTES = 256 * 1024;

/** The credentials of one server, in a file that its owner alone may read. The file may have those of other servers too. */
export class TokenStore {
  readonly #file: string;
  /** What signs in to one address is given to no other: a path may lead to a server of someone else. */
  readonly #server: string;

  constructor(file: string, serverUrl: string) {
    const { origin, pathname } = new URL(serverUrl);
    this.#file = resolve(file);
    this.#server = `${origin}${pathname}`;
  }

  /** What is kept; empty if there is none. Throws `option_invalid` for a file that others may read, or that is none of these. */
  read(): Fields {
    const servers = this.#readAll();
    const kept = Object.hasOwn(servers, this.#server) ? servers[this.#server] : {};
    if (!isFields(kept)) throw this.#refused("it is not a file of credentials");
    return kept;
  }

  #readAll(): Fields {
    const about = statSync(this.#file, { throwIfNoEntry: false });
    if (!about) return {};
    if (!about.isFile() || about.size > MOST_BYTES) throw this.#refused("it is not a file of credentials");
    if (process.platform !== "win32" && (about.mode & 0o077) !== 0)
      throw this.#refused(`others may read or write it. Run chmod 600, or remove it`);
    let kept: unknown;
    try {
      kept = JSON.parse(readFileSync(this.#file, "utf8"));
    } catch {
      throw this.#refused("it is no JSON. Remove it");
    }
    if (!isFields(kept) || !isFields(kept.servers)) throw this.#refused("it is not a file of credentials");
    return kept.servers;
  }

  /** Replaces the file as a whole: another process reads the old or the new one. */
  write(kept: Fields): void {
    const servers = { ...this.#readAll(), [this.#server]: kept };
    mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
    const beside = `${this.#file}.${randomUUID()}`;
    writeFileSync(beside, `${JSON.stringify({ servers })}\n`, { mode: 0o600, flag: "wx" });
    chmodSync(beside, 0o600);
    renameSync(beside, this.#file);
  }

  #refused(why: string): PortcullisError {
    return new PortcullisError("option_invalid", `fromMcp({ auth: { store } }): ${this.#file}: ${why}.`);
  }
}
