import { count, given, insetText } from "../../../base/index.ts";
import type { Runtime } from "../../../runtime/create-runtime.ts";
import { createServer, type PortcullisServer } from "../../../serve/create-server.ts";
import {
  type AnsweredRequest,
  LISTEN_RULES,
  type ServerOptions as DoorOptions,
} from "../../../serve/server-options.ts";
import type { ServerOptions } from "../../command-options.ts";
import { causeOf, framesOf, reasonOf } from "../../failure.ts";
import { outlastErrors } from "../../guarded.ts";
import { readDoorKeys, refuseOpen, watchDoorKeys } from "../../input/door-keys.ts";
import { journalPathOf } from "../../input/open-journal.ts";
import { writeStderr } from "../../terminal/standard-streams.ts";
import { decideCommand } from "../../terminal/executions/waiting-hints.ts";

/** The options of a server, read and checked. */
export type HttpSettings = ReturnType<typeof readHttpSettings>;

/** What the options of a server were given. They do nothing if no server is asked for. */
export function listening({ host, keys, hostName, log }: Partial<ServerOptions>): readonly unknown[] {
  return [host, keys, hostName?.[0], log];
}

/** Throws a `Failure` for an address that others can reach without a key. */
export function readHttpSettings(options: ServerOptions, port: number | undefined) {
  refuseOpen(options.host, options.keys);
  return {
    options,
    port: port ?? LISTEN_RULES.port.default,
    /** Text of the file of keys. */
    keys: options.keys === undefined ? undefined : readDoorKeys(options.keys),
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
  const onError = (error: unknown) => tell(reasonOf(error));
  const server = await createServer(runtime, {
    ...more,
    ...given({ keys, decideCommand: decideCommandOf(journalPathOf(options.journal)) }),
    hostNames: hostName,
    ...(log ? { onRequest: logRequest } : {}),
    onError,
  });
  const { url } = await server.listen({ port, ...given({ host }) });
  void server.recover().then(tellRecovered, () => {});
  const stack = new AsyncDisposableStack();
  stack.use(outlastErrors(tellStray));
  const onUnread = (reason: string) =>
    tell(`the file of keys cannot be read, and the former keys stay valid: ${reason}.`);
  if (options.keys !== undefined && keys !== undefined)
    stack.use(watchDoorKeys(options.keys, keys, (text) => changeKeys(server, text), onUnread));
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

function tellRecovered(taken: number): void {
  if (taken > 0)
    tell(
      taken === 1
        ? "1 execution that was left open before has ended or waits."
        : `${count(taken)} executions that were left open before have ended or wait.`,
    );
}

/** Ends the server, and reports how many executions it left open. */
async function close(server: PortcullisServer, drainMs: number): Promise<void> {
  tell(`no further requests are accepted; running executions have ${drainMs / 1000} s to end.`);
  const { leftOpen } = await server.close({ drainMs });
  if (leftOpen > 0)
    tell(
      leftOpen === 1
        ? "1 execution is left open in the journal: the next start continues it."
        : `${count(leftOpen)} executions are left open in the journal: the next start continues them.`,
    );
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

export function tell(text: string): void {
  writeStderr(`portcullis: ${text}\n`);
}

/** Tells an error that would have ended the process, and where it was thrown. */
export function tellStray(error: unknown): void {
  const frames = framesOf(error);
  tell(`${reasonOf(error)}${frames === "" ? "" : `\n${insetText(frames)}`}`);
}
