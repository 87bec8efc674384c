import type { Journal } from "../../../journal/journal.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../../runtime/create-runtime.ts";
import type { ServedOptions, ServeFlags } from "../../command-options.ts";
import {
  failureLine,
  causeOf,
  framesOf,
  UsageFailure,
  outlastErrors,
  type Cancelling,
  cancelOnSignal,
} from "../../failure.ts";
import { type OpenJournal, optionalJournal, journalPathOf } from "../../input/open-journal.ts";
import { openAnyTools, openTools, tellUnassigned } from "../../input/open-tools.ts";
import { keepStdout, oneLine, writeStderr } from "../../terminal/standard-streams.ts";
import { printFailures } from "../../terminal/executions/print-report.ts";
import { count, every, insetText, pause, ignore } from "../../../base/index.ts";
import { createServer, type PortcullisServer } from "../../../serve/create-server.ts";
import { type AnsweredRequest, type ServerOptions as DoorOptions } from "../../../serve/server-options.ts";
import { decideCommand } from "../../terminal/executions/waiting-hints.ts";
import { readFileSync, statSync } from "node:fs";
import { isLoopback } from "../../../serve/http/allowed-hosts.ts";
import { parseKeys } from "../../../serve/http/keys.ts";

/**
 * Opens the tools, the journal and a runtime with both. All of them close with the stack. Where models are served, the
 * clients may bring all the tools.
 */
export async function openServed(
  stack: AsyncDisposableStack,
  options: ServedOptions & { readonly model?: readonly string[] },
  more: (journal: Journal | undefined) => Partial<RuntimeOptions>,
): Promise<Runtime> {
  const open = stack.use(await (options.model?.length ? openAnyTools : openTools)(options));
  tellUnassigned(open, options);
  const journal = stack.use(optionalJournal(options.journal));
  const { limit: limits, policy } = options;
  const tools = () => open.tools;
  const fleet = journal && (await fleetOf(stack, journal));
  return stack.use(
    await createRuntime({
      tools,
      limits,
      logger: printFailures,
      fleet,
      journal: fleet ? undefined : journal,
      policy,
      ...more(journal),
    }),
  );
}

/** The fleet of a journal in PostgreSQL; undefined for a journal in a file, which other machines do not reach. */
async function fleetOf(stack: AsyncDisposableStack, journal: OpenJournal) {
  if (!("query" in journal)) return undefined;
  const { createFleet } = await import("../../../fleet/fleet.ts");
  const onError = (error: unknown) => writeStderr(`portcullis: the queue of the fleet: ${failureLine(error)}\n`);
  return stack.use(createFleet({ journal, onError }));
}

/** The options of a server, read and checked. */
export type HttpSettings = ReturnType<typeof readHttpSettings>;

/** What the options of a server were given. They do nothing if no server is asked for. */
export function listening({ host, keys, hostName, log }: Partial<ServeFlags>): readonly unknown[] {
  return [host, keys, hostName?.[0], log];
}

/** Throws a `CommandFailure` for an address that others can reach without a key. */
export function readHttpSettings(options: ServeFlags, port: number | undefined) {
  const { host, keys } = options;
  if (host !== undefined && keys === undefined && !isLoopback(host))
    throw new UsageFailure(
      `--host: ${oneLine(host)} can be reached by others: add --keys FILE, or leave out --host to serve this machine only.`,
    );
  return {
    options,
    port,
    /** Text of the file of keys. */
    keys: keys && readDoorKeys(keys),
  };
}

/**
 * Serves a runtime over HTTP, and follows its file of keys. Disposing of the server closes it, after the time that its
 * executions have to end.
 */
export async function openHttpServer(
  runtime: Runtime,
  { options, port, keys }: HttpSettings,
  drainMs: number,
  more: DoorOptions,
) {
  const { host, hostName, log } = options;
  const server = await createServer(runtime, {
    ...more,
    keys,
    decideCommand: decideCommandOf(journalPathOf(options.journal)),
    hostNames: hostName,
    onRequest: log ? logRequest : undefined,
    onError: tellError,
  });
  const { url } = await server.listen({ port, host });
  void server.recover().then(tellRecovered, () => {});
  const stack = new AsyncDisposableStack();
  stack.use(outlastErrors(tellStray));
  const onUnread = (reason: string) =>
    tell(`the file of keys cannot be read, and the former keys stay valid: ${reason}.`);
  if (keys !== undefined) stack.use(watchDoorKeys(options.keys!, keys, (text) => changeKeys(server, text), onUnread));
  stack.defer(async () => void (await (more.routes === "operator" ? server.close() : close(server, drainMs))));
  return { server, url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Invalid keys change nothing: a mistake in the file must not lock all clients out. */
function changeKeys(server: PortcullisServer, text: string): void {
  try {
    server.setKeys(text);
    tell("the keys have changed.");
  } catch (error) {
    tell(
      `the new keys are not all valid: ${causeOf(error)}. The server keeps its former keys, except those that the file lacks, or has with another secret.`,
    );
  }
}

function tellRecovered(total: number): void {
  if (total === 1) tell("1 execution that was left open before has ended or waits.");
  if (total > 1) tell(`${count(total)} executions that were left open before have ended or wait.`);
}

/** Ends the server, and reports how many executions it left open. */
async function close(server: PortcullisServer, drainMs: number): Promise<void> {
  tell(`no further requests are accepted; running executions have ${drainMs / 1000} s to end.`);
  const { leftOpen } = await server.close({ drainMs });
  if (leftOpen === 1) tell("1 execution is left open in the journal: the next start continues it.");
  if (leftOpen > 1) tell(`${count(leftOpen)} executions are left open in the journal: the next start continues them.`);
}

/** Makes the commands by which a person decides calls; undefined without a journal, which the command reads. */
export function decideCommandOf(journal: string | undefined): DoorOptions["decideCommand"] {
  if (journal === undefined) return undefined;
  return (execution, call, tenant, answer) =>
    decideCommand(execution, call, answer, { journal, tenant: tenant === "default" ? undefined : tenant });
}

/** One line of JSON. Clients choose the ids in it. */
function logRequest({ at, ms, ...request }: AnsweredRequest): void {
  const line = { time: new Date(at).toISOString(), ...request, ms: Math.round(ms * 1000) / 1000 };
  writeStderr(`${JSON.stringify(line)}\n`);
}

/** Time to close tools and journal at the end, in milliseconds. */
const CLOSE_MS = 2000;

/**
 * Runs a command that serves until it is stopped, and closes at its end what is on the stack. What has not closed by then, engines
 * and servers too, ends with the process.
 */
export async function untilStopped(
  work: (stack: AsyncDisposableStack, cancelling: Cancelling) => Promise<number>,
  closeMs = CLOSE_MS,
): Promise<number> {
  keepStdout();
  using cancelling = cancelOnSignal();
  const stack = new AsyncDisposableStack();
  try {
    return await work(stack, cancelling);
  } finally {
    await Promise.race([stack.disposeAsync().catch(ignore), pause(closeMs)]);
  }
}

export function tellError(error: unknown): void {
  tell(failureLine(error));
}

export function tell(text: string): void {
  writeStderr(`portcullis: ${text}\n`);
}

/** Tells an error that would have ended the process, and where it was thrown. */
export function tellStray(error: unknown): void {
  const frames = framesOf(error);
  tell(`${failureLine(error)}${frames === "" ? "" : `\n${insetText(frames)}`}`);
}

const READABLE_BY_OTHERS = 0o044;
const KEYS_BYTES = 1024 * 1024;

/** The text of a file of keys, which are valid. Warns if others can read keys in it. */
function readDoorKeys(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isFile())
    throw new UsageFailure(`--keys: there is no file ${path}. Create it with: portcullis key add ID --keys ${path}`);
  if (found.size > KEYS_BYTES)
    throw new UsageFailure(`--keys: ${path} has ${found.size} bytes, at most ${KEYS_BYTES} are read.`);
  const text = readFileSync(path, "utf8");
  const keys = parseKeys(`--keys: ${path}`, text);
  if (process.platform !== "win32" && (found.mode & READABLE_BY_OTHERS) !== 0 && keys.all.some((key) => key.isPlain))
    tell(`--keys: other users can read the keys in ${oneLine(path)}: chmod 600, or give their SHA-256 as hash.`);
  return text;
}

/** How often a file of keys is looked at, in milliseconds. */
const LOOK_MS = 2000;

/**
 * Follows a file of keys, of which this text is known, until it is disposed of. `onChange` is called with the text of
 * the file whenever it has changed; `onUnread` once with each reason why it cannot be read. Reading is tried again.
 */
export function watchDoorKeys(
  path: string,
  initialText: string,
  onChange: (text: string) => void,
  onUnread: (reason: string) => void,
): Disposable {
  let text = initialText;
  let stamp: string | undefined;
  let lastReason: string | undefined;
  const look = () => {
    try {
      const now = stampOf(path);
      if (now === stamp) return;
      const read = readFileSync(path, "utf8");
      [stamp, lastReason] = [now, undefined];
      if (read === text) return;
      text = read;
      onChange(read);
    } catch (error) {
      stamp = undefined;
      const reason = causeOf(error);
      if (reason !== lastReason) onUnread(reason);
      lastReason = reason;
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
