import { PortcullisError } from "../../../base/index.ts";
import { fleetJournalOf, journalPathOf } from "../../input/open-journal.ts";
import { CLOSE_RULES } from "../../../serve/server-options.ts";
import type { CommandOptions, SERVE } from "../../command-options.ts";
import { EXIT } from "../../failure.ts";
import { loadModel } from "../../input/load-module.ts";
import { openHttpServer, readHttpSettings, tell, openServed, untilStopped } from "./http-server.ts";
import { POSTGRES_URL } from "../../../fleet/postgres/connection/address.ts";
import { randomBytes } from "node:crypto";
import { closeSync, existsSync, fstatSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";

/** Executions that run at once by default. */
export const AT_ONCE = 256;

/** `portcullis serve`: serves programs over HTTP until it is stopped. Resolves with the exit code. */
export async function serve(options: CommandOptions<typeof SERVE>): Promise<number> {
  if (options.workers === "elsewhere") fleetJournalOf(options.journal, "--workers elsewhere");
  const settings = readHttpSettings(options, options.port);
  const { baseUrl, sandbox, workers, webhooks, drain = CLOSE_RULES.drainMs.default } = options;
  const { concurrency = AT_ONCE, perTenant, queued, ...set } = options.set;
  const executions = { concurrency, perTenant, queued };
  const model = await Promise.all(options.model.map((text) => loadModel(text, { baseUrl })));
  return untilStopped(async (stack, cancelling) => {
    const runtime = await openServed(stack, options, (journal) => {
      if (!journal)
        tell("executions are kept in memory alone, and end with the server: give --journal FILE to keep them.");
      return { sandbox, approve: () => "later", executions };
    });
    if (cancelling.signal.aborted) return EXIT.completed;
    await using listening = await openHttpServer(runtime, settings, drain, {
      ...set,
      workers,
      webhooks,
      concurrency,
      ...(model.length === 0 ? {} : { model, ...secretsOf(options.journal) }),
    });
    const { server, url } = listening;
    const page = server.token === undefined ? `${url}/` : `${url}/#token=${server.token}`;
    tell(`serving at ${url}`);
    tell(server.token === undefined ? `the page is at ${page}` : `the page, and the token of all requests: ${page}`);
    await cancelling.asked;
    return EXIT.completed;
  });
}

/** The secrets of servers whose journal is no file, the current one first, with spaces between. */
const VARIABLE = "PORTCULLIS_GATEWAY_SECRETS";

/**
 * The secrets that seal what clients of the gateway carry: beside the file of the journal, or in the environment. Without
 * either, each server has its own.
 */
export function secretsOf(named: string | undefined): { readonly secrets?: readonly string[] } {
  const given = process.env[VARIABLE]?.split(/\s+/).filter((secret) => secret !== "") ?? [];
  if (given.length > 0) return { secrets: given };
  const journal = journalPathOf(named);
  return journal === undefined || POSTGRES_URL.test(journal) ? {} : { secrets: readSecrets(secretFileOf(journal)) };
}

/** Bytes of a new secret. */
const SECRET_BYTES = 32;
const MIN_LENGTH = 32;
/** Rights of the group and of all others. */
const OTHERS = 0o077;

/** The file of the gateway's secrets, beside that of a journal. */
export function secretFileOf(journal: string): string {
  return `${journal}.secrets`;
}

/**
 * The secrets of a file, the current one first. Creates the file, which its owner alone can read, if there is none. Throws
 * `option_invalid` for a file that others can read, and for one without secrets.
 */
export function readSecrets(path: string): readonly string[] {
  if (!existsSync(path)) placeFirst(path);
  const secrets = readOwn(path)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (secrets.length > 0 && secrets.every(({ length }) => length >= MIN_LENGTH)) return secrets;
  throw new PortcullisError(
    "option_invalid",
    `${path}: expected secrets of at least ${MIN_LENGTH} characters, one a line. Restore the file, or remove it: paused programs of clients are then lost.`,
  );
}

/** The text of a file that its owner alone can reach. */
function readOwn(path: string): string {
  const file = openSync(path, "r");
  try {
    if (process.platform !== "win32" && (fstatSync(file).mode & OTHERS) !== 0)
      throw new PortcullisError(
        "option_invalid",
        `${path}: other users of this machine can reach the secrets that seal what clients carry. Take their rights away: chmod 600 ${path}. If others may have read the file, put a new secret in its first line, like that of: openssl rand -base64 33`,
      );
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

/** Writes a file whole beside its place, and puts it there, unless another process that starts at the same time has done so. */
function placeFirst(path: string): void {
  const beside = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    const secret = randomBytes(SECRET_BYTES).toString("base64url");
    writeFileSync(beside, `${secret}\n`, { mode: 0o600, flag: "wx", flush: true });
    linkSync(beside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(beside, { force: true });
  }
}
