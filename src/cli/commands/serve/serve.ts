import { PortcullisError, count } from "../../../base/index.ts";
import { fleetJournalOf, journalPathOf } from "../../input/open-journal.ts";
import { CLOSE_RULES } from "../../../serve/server-options.ts";
import type { CommandOptions, SERVE, WORKER } from "../../command-options.ts";
import { EXIT, UsageFailure, outlastErrors } from "../../failure.ts";
import { loadModel } from "../../input/load-module.ts";
import {
  openHttpServer,
  readHttpSettings,
  tell,
  openServed,
  untilStopped,
  type HttpSettings,
  listening,
  tellError,
  tellStray,
} from "./http-server.ts";
import { POSTGRES_URL, namedDatabase } from "../../../fleet/postgres/connection/address.ts";
import { randomBytes } from "node:crypto";
import { closeSync, existsSync, fstatSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { RecoveredConversation } from "../../../runtime/executions/index.ts";

/** Executions that run at once by default. */
export const CONCURRENT_EXECUTIONS = 256;

/** `portcullis serve`: serves programs over HTTP until it is stopped. Resolves with the exit code. */
export async function serve(options: CommandOptions<typeof SERVE>): Promise<number> {
  if (options.workers === "elsewhere") fleetJournalOf(options.journal, "--workers elsewhere");
  const settings = readHttpSettings(options, options.port);
  const { baseUrl, sandbox, workers, webhooks, drain = CLOSE_RULES.drainMs.default } = options;
  const { concurrency = CONCURRENT_EXECUTIONS, perTenant, queued, ...set } = options.set;
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
      ...(model.length > 0 && { model, ...serverSecrets(options.journal) }),
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
export function serverSecrets(named: string | undefined): { readonly secrets?: readonly string[] } {
  const secrets = process.env[VARIABLE]?.split(/\s+/).filter((secret) => secret !== "") ?? [];
  if (secrets.length > 0) return { secrets };
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
  const tempPath = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    const secret = randomBytes(SECRET_BYTES).toString("base64url");
    writeFileSync(tempPath, `${secret}\n`, { mode: 0o600, flag: "wx", flush: true });
    linkSync(tempPath, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(tempPath, { force: true });
  }
}

/** `portcullis worker`: drives executions of a fleet until it is stopped. Resolves with the exit code. */
export async function worker(options: CommandOptions<typeof WORKER>): Promise<number> {
  const { baseUrl, sandbox, drain = CLOSE_RULES.drainMs.default } = options;
  const { leaseMs, ...set } = options.set;
  const url = fleetJournalOf(options.journal, "A worker");
  const settings = metricsSettings(options);
  const models = await Promise.all(options.model.map((text) => loadModel(text, { baseUrl })));
  const model = ({ model: name }: RecoveredConversation) => models.find((one) => one.name === name);
  using _ = outlastErrors(tellStray);
  return await untilStopped(async (stack, cancelling) => {
    const runtime = await openServed(stack, options, () => ({
      sandbox,
      approve: () => "later",
      leaseMs,
    }));
    const started = await runtime.fleet!.work(runtime, { model, onError: tellError, ...set });
    if (settings) {
      // What drives nothing, and tells of this process and its fleet by the routes of any server.
      const routes = { routes: "operator", workers: "elsewhere" } as const;
      const { server, url } = stack.use(await openHttpServer(runtime, settings, 0, routes));
      tell(`tells of itself at ${url}/metrics and ${url}/readyz`);
      if (server.token !== undefined) tell(`they need the header Authorization: Bearer ${server.token}`);
    }
    tell(`works for the fleet of ${namedDatabase(url)}`);
    await cancelling.asked;
    tell(`accepts no more executions; calls that change something have ${drain / 1000} s to end.`);
    const rest = await started.drain(drain);
    if (rest > 0) tell(`${count(rest)} ${rest === 1 ? "execution goes" : "executions go"} on with other workers.`);
    return EXIT.completed;
  });
}

/** The server of a worker's metrics, if there is to be one. */
function metricsSettings(options: CommandOptions<typeof WORKER>): HttpSettings | undefined {
  const { metrics } = options;
  if (metrics !== undefined) return readHttpSettings({ ...options, log: undefined }, metrics);
  if (listening(options).some((one) => one !== undefined))
    throw new UsageFailure("worker: --host, --keys and --host-name go with --metrics: add --metrics PORT.");
  return undefined;
}
