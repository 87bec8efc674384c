import { setTimeout as sleep } from "node:timers/promises";
import type { Model } from "../../models/model.ts";
import { wholeNumber } from "../../options/options.ts";
import type { Limits } from "../../programs/limits.ts";
import { cleanText } from "../../output/clean-text.ts";
import { createRuntime } from "../../runtime.ts";
import type { AnsweredRequest } from "../../serve/answered-request.ts";
import { createServer, type PortcullisServer } from "../../serve/create-server.ts";
import { CLOSE_RULES, LISTEN_RULES } from "../../serve/server-options.ts";
import { EXIT } from "../exit-code.ts";
import { causeOf, reasonOf } from "../failure.ts";
import { outlastErrors } from "../guarded.ts";
import { readDoorKeys, refuseOpen, watchDoorKeys } from "../input/door-keys.ts";
import { loadModel } from "../input/load-model.ts";
import { optionalJournal } from "../input/open-journal.ts";
import { openTools, tellUnassigned, type ToolsOptions } from "../input/open-tools.ts";
import { parseSandbox } from "../input/parse-sandbox.ts";
import { parseWhole } from "../input/parse-whole.ts";
import { openPage } from "../terminal/open-page.ts";
import { cancelOnSignal } from "../terminal/cancel-on-signal.ts";
import { printFailures } from "../terminal/print-failures.ts";
import { keepStdout } from "../terminal/standard-streams.ts";
import { decideCommand } from "../terminal/waiting-hints.ts";

export interface ServeOptions extends ToolsOptions {
  readonly port?: string;
  readonly host?: string;
  readonly keys?: string;
  readonly hostName: readonly string[];
  readonly model: readonly string[];
  readonly baseUrl?: string;
  readonly sandbox: string;
  readonly limit: Partial<Limits>;
  readonly journal?: string;
  readonly atOnce?: string;
  readonly perTenant?: string;
  readonly queue?: string;
  readonly drain?: string;
  readonly open?: boolean;
  readonly log?: boolean;
}

const PORT = LISTEN_RULES.port;
const DRAIN = wholeNumber({ min: 0, max: 3600 });
const AT_ONCE = wholeNumber({ min: 1, max: 100_000, default: 256 });
const QUEUE = wholeNumber({ min: 0, max: 1_000_000, default: 1000 });
/** Time to close tools and journal at the end, in milliseconds. */
const CLOSE_MS = 2000;

/** `portcullis serve`: serves programs over HTTP until it is told to end. Resolves with the exit code. */
export async function serve(options: ServeOptions): Promise<number> {
  refuseOpen(options.host, options.keys);
  const { port, drainMs, executions } = numbersOf(options);
  const keys = options.keys === undefined ? undefined : readDoorKeys(options.keys).text;
  const sandbox = parseSandbox(options.sandbox);
  const models = await modelsOf(options);
  keepStdout();
  using cancelling = cancelOnSignal();
  const { signal } = cancelling;
  const stack = new AsyncDisposableStack();
  try {
    const open = stack.use(await openTools(options));
    tellUnassigned(open, options);
    const journal = stack.adopt(optionalJournal(options.journal), (one) => one?.[Symbol.dispose]());
    if (!journal)
      tell("executions are kept in memory alone, and end with the server: give --journal FILE to keep them.");
    const runtime = stack.use(
      await createRuntime({
        tools: () => open.tools,
        sandbox,
        limits: options.limit,
        logger: printFailures,
        approve: () => "later" as const,
        executions,
        ...(journal ? { journal } : {}),
      }),
    );
    const server = await createServer(runtime, {
      ...(keys === undefined ? {} : { keys }),
      models: ({ model }) => models.find(({ name }) => name === model),
      hostNames: options.hostName,
      ...(journal ? { decideCommand: (execution, call, tenant) => commandFor(options, execution, call, tenant) } : {}),
      ...(options.log ? { onRequest: logRequest } : {}),
      onError: (error) => tell(reasonOf(error)),
    });
    if (signal.aborted) return EXIT.completed;
    const { url } = await server.listen({ port, ...(options.host === undefined ? {} : { host: options.host }) });
    void server.recover().then(tellRecovered, () => {});
    stack.use(outlastErrors((error) => tell(reasonOf(error))));
    if (options.keys !== undefined && keys !== undefined)
      stack.use(
        watchDoorKeys(options.keys, keys, {
          onChange: (text) => changeKeys(server, text),
          onUnread: (reason) => tell(`the file of keys cannot be read, and the former keys stay valid: ${reason}.`),
        }),
      );
    stack.use(greet(server, url, options));
    await signalled(signal);
    await close(server, drainMs);
    return EXIT.completed;
  } finally {
    await Promise.race([stack.disposeAsync().catch(() => {}), sleep(CLOSE_MS)]);
  }
}

/** Invalid keys change nothing: a mistake in the file must not lock all clients out. */
function changeKeys(server: PortcullisServer, text: string): void {
  try {
    server.setKeys(text);
    tell("the keys have changed.");
  } catch (error) {
    tell(
      `the new keys are not all valid: ${causeOf(error)}. The server keeps its former keys, except those that are no longer in the file.`,
    );
  }
}

/** `onError` is told of what fails at it. */
function tellRecovered(taken: number): void {
  if (taken > 0)
    tell(
      taken === 1
        ? "1 execution that was left open before has ended or waits."
        : `${taken} executions that were left open before have ended or wait.`,
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
        : `${leftOpen} executions are left open in the journal: the next start continues them.`,
    );
}

function numbersOf({ port, drain, atOnce, perTenant, queue }: ServeOptions): {
  readonly port: number;
  readonly drainMs: number;
  readonly executions: { readonly atOnce: number; readonly perTenant?: number; readonly queued: number };
} {
  return {
    port: port === undefined ? PORT.default : parseWhole("--port", port, PORT),
    drainMs: drain === undefined ? CLOSE_RULES.drainMs.default : parseWhole("--drain", drain, DRAIN) * 1000,
    executions: {
      atOnce: atOnce === undefined ? AT_ONCE.default : parseWhole("--at-once", atOnce, AT_ONCE),
      ...(perTenant === undefined ? {} : { perTenant: parseWhole("--per-tenant", perTenant, AT_ONCE) }),
      queued: queue === undefined ? QUEUE.default : parseWhole("--queue", queue, QUEUE),
    },
  };
}

function modelsOf({ model, baseUrl }: ServeOptions): Promise<readonly Model[]> {
  return Promise.all(model.map((text) => loadModel(text, baseUrl === undefined ? {} : { baseUrl })));
}

function greet({ token }: PortcullisServer, url: string, { open = false }: ServeOptions): Disposable | undefined {
  const page = token === undefined ? `${url}/` : `${url}/#token=${token}`;
  tell(`serving at ${url}`);
  tell(token === undefined ? `the page is at ${page}` : `the page, and the token of all requests: ${page}`);
  return open ? openPage(page, "--open") : undefined;
}

function commandFor({ journal }: ServeOptions, execution: string, call: string, tenant: string): string {
  return decideCommand(execution, call, {
    ...(journal === undefined ? {} : { journal }),
    ...(tenant === "default" ? {} : { tenant }),
  });
}

/** One line of JSON. Its clients choose the ids in it. */
function logRequest({ at, ms, ...request }: AnsweredRequest): void {
  const line = { time: new Date(at).toISOString(), ...request, ms: Math.round(ms * 1000) / 1000 };
  process.stderr.write(`${cleanText(JSON.stringify(line))}\n`);
}

function tell(text: string): void {
  process.stderr.write(`portcullis: ${text}\n`);
}

async function signalled(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
