import { types } from "node:util";
import { cutCleaned, ignore, INSET, insetLines, insetText, now, PortcullisError } from "../base/index.ts";
import type { HiddenNames } from "../tools/observed/tenant-results.ts";
import type { EventFields } from "../gate/call-event.ts";
import type { AgentEvent } from "../conversations/event.ts";
import type { AgentScope } from "../conversations/agent-scope.ts";
import { failureLog, type Logger } from "../gate/run/failure-log.ts";
import { thrownText } from "../executions/output/thrown-text.ts";
import { redactEnding, TO_LOG } from "../executions/redact-execution.ts";
import type { Redact } from "../journal/redaction/redact-option.ts";
import type { ExecutionEvent } from "../executions/event.ts";
import { type About, Redactor } from "../journal/redaction/redactor.ts";
import { telemetrySwitch } from "../gate/telemetry/sdk-switch.ts";
import type { Capture } from "../gate/telemetry/options.ts";
import type { Telemetry } from "../gate/telemetry/telemetry.ts";
import type { ToolFailure } from "../tools/tool-set.ts";
import type { RuntimeOptions } from "./options.ts";

const MAX_TOLD = 20;

const TELEMETRY_MISSING =
  "An OpenTelemetry SDK is registered, and nothing is recorded, because the package @opentelemetry/api cannot be loaded: npm install @opentelemetry/api";

/** An error may hold a whole response. */
const ERROR_BYTES = 16 * 1024;

/**
 * The logger of a host that gives none. It leaves out failures that the program was told. Errors may quote what a
 * server sent, so their text is cleaned and indented: it cannot control a terminal or imitate an entry.
 */
const CONSOLE_LOGGER: Logger = {
  error: ({ execution, err }, message) => {
    const where = execution === "" ? "" : ` (execution ${execution})`;
    const details =
      err === undefined || isSaid(err, message)
        ? ""
        : `\n${cutCleaned(thrownText(err), insetText, ERROR_BYTES, INSET).text}`;
    // One argument: in several, `%` of the first would format the others.
    // oxlint-disable-next-line no-console -- the operator has named no other place
    console.error(`portcullis: ${insetLines(`${message}${where}`)}${details}`);
  },
  warn: ignore,
};

/** Whether the message of an entry says all that its error has to say. */
function isSaid(err: unknown, message: string): boolean {
  try {
    if (!types.isNativeError(err) || err.cause !== undefined) return false;
    return (PortcullisError.is(err) || err.stack === undefined) && message.endsWith(err.message);
  } catch {
    return false;
  }
}

export interface ObserverParts {
  readonly onEvent?: RuntimeOptions["onEvent"];
  /** Told of handlers that fail; undefined for the console. */
  readonly logger?: Logger | undefined;
  readonly redact?: Redact | undefined;
  /** What spans have of contents; undefined if no SDK is told anything. */
  readonly captures: ReadonlySet<Capture> | undefined;
}

export type Listener = (event: AgentEvent) => void;

export type HostObservers = ReturnType<typeof hostObservers>;

/** What a runtime tells of all that it runs: events to its listeners, failures to the operator's log, spans to OpenTelemetry. */
export function hostObservers({ onEvent, logger: hostLogger = CONSOLE_LOGGER, redact, captures }: ObserverParts) {
  const logger = cleanLogger(hostLogger);
  const log: Log = (entry, message) => logger.error({ tool: "", execution: "", callId: "", ...entry }, message);
  const redactor = redact && redactorFor(redact, log);
  const onMissing = (err: unknown) => log({ code: "telemetry_missing", err }, TELEMETRY_MISSING);
  const telemetry = telemetrySwitch({ captures, redactor, onMissing });
  const failedSwitches = new Set<string>();
  const tellOfTool = (tool: string, code: string, error: PortcullisError) => {
    const tell = (err: Error) => log({ tool, code, err }, err.message);
    if (!redactor) return tell(error);
    // Without its stack and its cause, which have texts of their own.
    void redactor.text(error.message, { to: "log", tool }).then(({ text }) => tell(new Error(text)));
  };
  return {
    /** Undefined if nothing is redacted. */
    redactor,
    /** Undefined without an SDK: nothing is waited for then. */
    get telemetry(): Promise<Telemetry | undefined> | undefined {
      return telemetry.now;
    },
    observe: (scope: AgentScope, listener: Listener | undefined) =>
      observe({ logger, redactor, onEvent }, scope, listener),
    /** Tells the operator once of each tool whose `enabled` fails: it is asked for every execution. */
    switchFailed({ tool, error }: ToolFailure): void {
      if (failedSwitches.has(tool)) return;
      failedSwitches.add(tool);
      tellOfTool(tool, "not_enabled", error);
    },
    /** Tells the operator of newcomers that cannot be beside the other tools. */
    toolsLeftOut([first, ...others]: readonly ToolFailure[]): void {
      if (!first) return;
      const more = others.length === 0 ? "" : ` So are ${others.length} more.`;
      const message = `The tool ${first.tool} is left out: ${first.error.message} The policy of a source can give its tools other names.${more}`;
      tellOfTool(first.tool, "tools_conflict", new PortcullisError("tools_conflict", message));
    },
  };
}

/** Writes an entry that is about no call. */
type Log = (entry: { readonly code: string; readonly tool?: string; readonly err?: unknown }, message: string) => void;

/** Tells the operator if the function fails, and where: its error's own message may quote the text. */
function redactorFor(redact: Redact, log: Log): Redactor {
  let count = 0;
  return new Redactor(redact, (error) => {
    count += 1;
    if (count > MAX_TOLD) return;
    const why = PortcullisError.is(error) ? error.message : "The `redact` function failed.";
    const cause = PortcullisError.is(error) ? (error.cause ?? error) : error;
    log({ code: "redact_failed", err: placesOf(cause, why) }, why);
  });
}

/**
 * Gives a scope whose events are told, until `end`: to the listener of one method, to the runtime's and to the
 * operator's log.
 */
function observe(
  {
    logger,
    redactor,
    onEvent,
  }: Pick<ObserverParts, "onEvent"> & {
    readonly logger: Required<Logger>;
    readonly redactor: Redactor | undefined;
  },
  scope: AgentScope,
  listener: Listener | undefined,
) {
  const failures = failureLog(logger);
  const unread = new Set<string>();
  const tell = (event: AgentEvent) => {
    listener?.(event);
    if (event.type === "parts_unread") tellUnread(logger, event, unread);
    if (event.type === "inputs_changed") tellChanged(logger, event);
    if (!isExecutionEvent(event)) return;
    onEvent?.(event);
    if (event.type === "call_ended" || event.type === "call_undecided") failures.take(event);
  };
  const events = redactor && redactedEvents(redactor, tell);
  const flush = async () => events?.flush();
  return {
    scope: {
      ...scope,
      onEvent: (untimed: EventFields<AgentEvent>) => {
        const event: AgentEvent = { ...untimed, at: now() };
        if (events) events.take(event);
        else tell(event);
      },
    },
    flush,
    end: async () => {
      await flush();
      failures.end();
    },
  };
}

/** Tells the operator once of each kind. */
function tellUnread(
  logger: Required<Logger>,
  { execution, model, parts }: AgentEvent & { readonly type: "parts_unread" },
  seenKinds: Set<string>,
): void {
  const kinds = parts.filter((kind) => !seenKinds.has(kind));
  if (kinds.length === 0 || seenKinds.size >= MAX_TOLD) return;
  for (const kind of kinds) seenKinds.add(kind);
  logger.warn(
    { tool: "", execution, callId: "", code: "parts_unread" },
    `A reply of ${model} has parts that are not read, and nothing was done with them: ${kinds.join(", ")}.`,
  );
}

function tellChanged(
  logger: Required<Logger>,
  { execution, model, tools }: AgentEvent & { readonly type: "inputs_changed" },
): void {
  const more = tools.length > MAX_TOLD ? ` and ${tools.length - MAX_TOLD} more` : "";
  logger.warn(
    { tool: "", execution, callId: "", code: "inputs_changed" },
    `${model} is told of the inputs of ${tools.slice(0, MAX_TOLD).join(", ")}${more} otherwise than their schemas say, by which calls are checked: portcullis tools --check says how.`,
  );
}

/** Which of these names `redact` would take something out of; undefined if nothing is redacted. */
export function hiddenNamesBy(redactor: Redactor | undefined): HiddenNames | undefined {
  if (!redactor) return undefined;
  const isHidden = async (text: string) => {
    for (const to of ["journal", "model"] as const) if ((await redactor.text(text, { to })).count > 0) return true;
    return false;
  };
  return async (names) => {
    const hidden = new Set<string>();
    if (!(await isHidden(names.join("\n")))) return hidden;
    for (const name of names) if (await isHidden(name)) hidden.add(name);
    return hidden;
  };
}

/** A logger whose messages are clean and begin no line of their own: they quote names, ids and errors of others. */
function cleanLogger(logger: Logger): Required<Logger> {
  const error: Logger["error"] = (entry, message) => logger.error(entry, insetLines(message));
  return { error, warn: logger.warn ? (entry, message) => logger.warn?.(entry, insetLines(message)) : error };
}

/** An error with the places of another one in the host's code, and with no word of it. */
function placesOf(error: unknown, message: string): Error {
  const copy = new Error(message);
  copy.stack = `Error: ${message}`;
  try {
    const { name, message: own, stack = "" } = error as Error;
    const head = own === "" ? name : `${name}: ${own}`;
    // The words in a stack stay as they were when it was made.
    if (stack.startsWith(`${head}\n    at `)) copy.stack += stack.slice(head.length);
  } catch {}
  return copy;
}

/** A listener of all events, for one that knows no events of conversations. */
export function listenerOfPrograms(onEvent: RuntimeOptions["onEvent"] | undefined): Listener | undefined {
  return onEvent && ((event) => isExecutionEvent(event) && onEvent(event));
}

const EXECUTION_EVENT_OF_EACH_TYPE: Readonly<Record<ExecutionEvent["type"], true>> = {
  execution_started: true,
  execution_queued: true,
  program_checked: true,
  output: true,
  execution_waiting: true,
  execution_ended: true,
  call_started: true,
  call_retried: true,
  call_undecided: true,
  call_streamed: true,
  call_ended: true,
};

const EXECUTION_EVENTS: ReadonlySet<string> = new Set(Object.keys(EXECUTION_EVENT_OF_EACH_TYPE));

function isExecutionEvent(event: AgentEvent): event is ExecutionEvent {
  return EXECUTION_EVENTS.has(event.type);
}

/** Causes of an error that are told. */
const MAX_CAUSES = 3;

/**
 * Tells of events once they are redacted, in their order. What a program prints is told together when it ends or waits: a
 * secret may stand in several pieces of it.
 */
function redactedEvents(redactor: Redactor, tell: Listener) {
  const printed = new Map<string, Extract<AgentEvent, { readonly type: "output" }>>();
  let queue: Promise<void> = Promise.resolve();
  const add = (redacted: () => Promise<AgentEvent>) => {
    queue = queue.then(async () => tell(await redacted()));
  };
  const addPrinted = (execution: string) => {
    const event = printed.get(execution);
    printed.delete(execution);
    if (event) add(async () => ({ ...event, text: await textWithout(redactor, event.text) }));
  };
  return {
    take(event: AgentEvent): void {
      const { execution } = event;
      if (event.type === "output") {
        printed.set(execution, { ...event, text: (printed.get(execution)?.text ?? "") + event.text });
        return;
      }
      if (event.type === "execution_ended" || event.type === "execution_waiting") addPrinted(execution);
      add(() => redactedEvent(event, redactor));
    },
    /** Resolves once all so far are told. */
    async flush(): Promise<void> {
      for (const execution of printed.keys()) addPrinted(execution);
      await queue;
    },
  };
}

async function textWithout(redactor: Redactor, text: unknown, about = TO_LOG): Promise<string> {
  return (await redactor.text(typeof text === "string" ? text : "", about)).text;
}

/** The words of a model are told as they are: what it was told was redacted before. */
async function redactedEvent(event: AgentEvent, redactor: Redactor): Promise<AgentEvent> {
  switch (event.type) {
    case "call_ended":
    case "call_retried":
    case "call_undecided": {
      const { tool, callId, error } = event;
      if (error === undefined) return event;
      return { ...event, error: await redactedError(error, redactor, { ...TO_LOG, tool, callId }) };
    }
    case "execution_ended":
    case "program_ended":
      return event.outcome ? { ...event, outcome: await redactEnding(event.outcome, redactor) } : event;
    case "execution_waiting":
    case "conversation_waiting":
      return { ...event, waiting: await redactor.value(event.waiting, TO_LOG) };
    case "conversation_started":
      return { ...event, task: await textWithout(redactor, event.task) };
    case "program_started":
      return { ...event, source: await textWithout(redactor, event.source) };
    default:
      return event;
  }
}

/** A clean error in place of one, and of anything else that was thrown its JSON. Never rejects, also if a getter throws. */
async function redactedError(thrown: unknown, redactor: Redactor, about: About, causes = MAX_CAUSES): Promise<unknown> {
  try {
    if (!(thrown instanceof Error)) return await redactor.value(thrown, about);
    const rawCause = causes === 0 ? undefined : thrown.cause;
    const cause = rawCause === undefined ? undefined : await redactedError(rawCause, redactor, about, causes - 1);
    const options = cause === undefined ? {} : { cause };
    const message = await textWithout(redactor, thrown.message, about);
    const clean = PortcullisError.is(thrown)
      ? new PortcullisError(thrown.code, message, options)
      : new Error(message, options);
    for (const field of ["name", "stack"] as const) {
      const value = await textWithout(redactor, thrown[field], about);
      Object.defineProperty(clean, field, { value, configurable: true, writable: true });
    }
    return clean;
  } catch {
    return "What was thrown has no JSON, and was left out.";
  }
}
