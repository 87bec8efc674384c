import { randomUUID } from "node:crypto";
import type { z } from "zod";
import type { AgentEvent } from "../../../agent/event.ts";
import { PortcullisError } from "../../../errors.ts";
import type { ExecutionId } from "../../../journal/execution-id.ts";
import { cleanText } from "../../../output/clean-text.ts";
import type { Report } from "../../../output/report.ts";
import type { Limits } from "../../../programs/limits.ts";
import { resultSchemaOf } from "../../../programs/drive/result-schema.ts";
import { findIfKnown } from "../../../journal/find-if-known.ts";
import { readHeader } from "../../../journal/read-records.ts";
import type { Runtime } from "../../../runtime.ts";
import { RequestProblem } from "../../http/problems.ts";
import type { JsonSchema } from "../../../tools/json-schema/json-schema.ts";
import { type Schema, storedSchema } from "../../../tools/schema.ts";
import { cutMiddle } from "../../../values/cut-middle.ts";
import { type EXECUTE_BODY, FAULT_BYTES, SCHEMA_LENGTH } from "../bodies.ts";
import { jsonAnswer } from "../json-answer.ts";
import { type ApiParts, type ApiRequest, takePlace } from "../parts.ts";
import { reportAnswer } from "./show.ts";

type ExecuteRequest = ApiRequest<z.output<typeof EXECUTE_BODY>, unknown>;

/** `POST /v1/executions`: runs a program. What has begun goes on, whatever becomes of the request. */
export async function execute(parts: ApiParts, request: ExecuteRequest): Promise<Response> {
  const { key, body, about } = request;
  const { wait, execution = randomUUID() } = body;
  const runtime = parts.runtimeOf(key);
  if (!runtime) throw new RequestProblem("key_unknown", "This key was changed or revoked during the request.");
  refuseAboveLimits(body.limits, runtime);
  refuseLanguage(body.language, runtime);
  const result = schemaOf(body.result);
  const id = body.execution === undefined ? execution : await parts.ids.stored(key.tenant, execution);
  about(execution);
  const release = takePlace(parts, key);
  const begun = Promise.withResolvers<void>();
  const onEvent = (event: AgentEvent) => {
    parts.onEvent(event);
    if (event.type === "execution_started" && event.execution === id) begun.resolve();
  };
  const drive = () => parts.runs.run(id, (signal) => run(runtime, request, { id, signal, onEvent, ...result }));
  const isKnown = await isTheSame(parts, request, id, result.result).catch((error: unknown) => {
    release();
    throw error;
  });
  const running = (isKnown ? again(parts, request, id, drive) : drive()).finally(release);
  if (wait) return jsonAnswer(key, reportAnswer(parts, key, await running));
  return inJournal(parts, request, id, { isKnown, begun: begun.promise, running });
}

/**
 * Asks for an execution that exists. An ended execution is read in turn, as other requests read journals. A running
 * execution is asked for once it is over: otherwise all who ask for it would read it at once.
 */
async function again(
  { runtime, runs, readings }: ApiParts,
  { key, signal }: ExecuteRequest,
  id: ExecutionId,
  drive: () => Promise<Report>,
): Promise<Report> {
  for (;;) {
    const { ended } = await runtime.journal.find(id);
    if (ended) return readings.run(key.id, signal, drive);
    // Nothing else can begin between this check and the beginning of the work.
    if (!runs.has(id)) return drive();
    await runs.settled(id);
  }
}

interface RunOptions {
  readonly id: ExecutionId;
  readonly signal: AbortSignal;
  readonly onEvent: (event: AgentEvent) => void;
  readonly result?: Schema;
}

function run(runtime: Runtime, { body }: ExecuteRequest, { id, ...options }: RunOptions): Promise<Report> {
  const { program, language, limits } = body;
  const given = {
    ...options,
    ...(language ? { language } : {}),
    ...(limits ? { limits: limits as Partial<Limits> } : {}),
  };
  return runtime.execute(program, { ...given, execution: id });
}

/** The schema in a form that takes little memory: many executions that wait for a place are held at once. */
function schemaOf(result: JsonSchema | undefined): { readonly result?: Schema } {
  if (result === undefined) return {};
  try {
    return { result: storedSchema(result, { longest: SCHEMA_LENGTH }) };
  } catch (error) {
    if (!PortcullisError.is(error) || error.code !== "option_invalid") throw error;
    const message = error.message.replace("jsonSchema(schema): ", "");
    throw new RequestProblem("request_invalid", `body.result: ${cleanText(cutMiddle(message, FAULT_BYTES))}`);
  }
}

interface Beginning {
  /** The journal has it already. */
  readonly isKnown: boolean;
  /** Resolves when the journal has the execution. */
  readonly begun: Promise<void>;
  readonly running: Promise<Report>;
}

/** Answers as soon as the execution cannot be lost any more: before that the client would rely on what is only in memory. */
async function inJournal(
  parts: ApiParts,
  request: ExecuteRequest,
  id: ExecutionId,
  { isKnown, begun, running }: Beginning,
): Promise<Response> {
  running.catch((error: unknown) => {
    if (!isTold(error)) parts.onError(error);
  });
  const accepted = () =>
    Response.json({ execution: parts.ids.shown(request.key.tenant, id), state: "running" }, { status: 202 });
  if (isKnown) return accepted();
  const report = await Promise.race([begun, running]);
  return report ? jsonAnswer(request.key, reportAnswer(parts, request.key, report)) : accepted();
}

/**
 * Whether the journal has this program under the id already. A program whose text was redacted is compared by the
 * runtime, which takes as long as it runs.
 */
async function isTheSame(
  { runtime }: ApiParts,
  { key, body }: ExecuteRequest,
  id: ExecutionId,
  result: Schema | undefined,
): Promise<boolean> {
  if (body.execution === undefined || !(await findIfKnown(runtime.journal, id))) return false;
  const header = await readHeader(runtime.journal, id, { tenant: key.tenant });
  return (
    header?.kind === "program" &&
    header.tenant === key.tenant &&
    header.source === body.program &&
    header.language === (body.language ?? "javascript") &&
    header.result === resultSchemaOf(result, "body.result")?.digest
  );
}

function refuseLanguage(language: ExecuteRequest["body"]["language"], { sandbox }: Runtime): void {
  if (language !== undefined && !sandbox.languages.includes(language))
    throw new RequestProblem("request_invalid", `body.language: this server runs ${sandbox.languages.join(" and ")}.`);
}

function refuseAboveLimits(limits: ExecuteRequest["body"]["limits"], { limits: allowed }: Runtime): void {
  for (const [name, value] of Object.entries(limits ?? {})) {
    const most = allowed[name as keyof Limits];
    if (most !== undefined && value !== undefined && value > most)
      throw new RequestProblem("request_invalid", `body.limits.${name}: at most ${most} for this key.`);
  }
}

/** Whether the journal, or the closing of the server, tells what became of the execution. */
function isTold(error: unknown): boolean {
  if (error instanceof RequestProblem) return true;
  return PortcullisError.is(error) && ["runtime_suspended", "execution_exists", "busy"].includes(error.code);
}
