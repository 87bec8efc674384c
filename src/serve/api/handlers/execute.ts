import { randomUUID } from "node:crypto";
import type { z } from "zod";
import { cleanText, cutMiddle, type ExecutionId, given, Lane, PortcullisError } from "../../../base/index.ts";
import type { Report } from "../../../executions/output/index.ts";
import type { Limits } from "../../../executions/limits.ts";
import { findIfKnown, readHeader } from "../../../journal/reading/index.ts";
import type { Runtime } from "../../../runtime/create-runtime.ts";
import type { Key } from "../../http/keys.ts";
import { RequestProblem } from "../../http/problems.ts";
import type { JsonSchema } from "../../../tools/json-schema/index.ts";
import { type Schema, storedSchema } from "../../../tools/schema.ts";
import { type EXECUTE_BODY, FAULT_BYTES, SCHEMA_LENGTH } from "../bodies.ts";
import { jsonAnswer } from "../json-answer.ts";
import {
  accepted,
  type ApiParts,
  type ApiRequest,
  ownUnless,
  refuseElsewhere,
  refuseIfElsewhere,
  runtimeWith,
  takePlace,
  untilBegun,
} from "../parts.ts";
import { reportAnswer } from "./show.ts";

type ExecuteRequest = ApiRequest<z.output<typeof EXECUTE_BODY>, unknown>;

/** `POST /v1/executions`: runs a program. What has begun goes on, whatever becomes of the request. */
export async function execute(parts: ApiParts, request: ExecuteRequest): Promise<Response> {
  const { key, body, about } = request;
  const { id: execution = randomUUID(), program, wait: _, ...chosen } = body;
  if (body.maxAgeMs !== undefined && body.corrects === undefined)
    throw new RequestProblem("request_invalid", "body.maxAgeMs: it goes with `corrects`, and there is none.");
  const { runtime, settings } = runtimeWith(parts, key, { language: "javascript", ...chosen });
  refuseAboveLimits(body.limits, runtime);
  refuseLanguage(body.language, runtime);
  const result = await schemaOf(key, body.result, "body.result");
  const id = body.id === undefined ? execution : await parts.ids.stored(key.tenant, execution);
  await refuseIfElsewhere(parts, key, id);
  const corrects = body.corrects === undefined ? undefined : await earlierOf(parts, key, body.corrects, id);
  about(execution);
  const release = takePlace(parts, key);
  const begun = Promise.withResolvers<void>();
  const { language, limits, maxAgeMs } = chosen;
  const options = given({ language, limits, result, corrects, maxAgeMs });
  const drive = () => parts.driving.run({ runtime, program, execution: id, settings: options }, begun.resolve);
  const isKnown = await isTheSame(parts, request, id, settings).catch((error: unknown) => {
    release();
    throw error;
  });
  const running = (isKnown ? again(parts, request, id, drive) : drive()).finally(release);
  if (isKnown) begun.resolve();
  const report = await untilBegun(parts, request, id, { running, stored: begun.promise });
  return report ? jsonAnswer(key, await reportAnswer(parts, key, report)) : accepted(parts, key, id);
}

/**
 * The id in the journal of the execution that a new one corrects. The journal has to hold it by now: until this one has
 * a place, another key could begin that one, and nobody would check whether this key may have what it holds. An
 * execution that was begun before is only told, also if the one that it corrects is gone.
 */
async function earlierOf(parts: ApiParts, key: Key, corrects: string, id: ExecutionId): Promise<ExecutionId> {
  if (!(await findIfKnown(parts.runtime.journal, id)))
    return ownUnless(parts, key, corrects, (header) => refuseElsewhere(parts, key, header));
  const stored = await parts.ids.stored(key.tenant, corrects);
  await refuseIfElsewhere(parts, key, stored);
  return stored;
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

/** The schema in a form that takes little memory: many executions that wait for a place are held at once. */
export async function schemaOf(
  { tenant }: Pick<Key, "tenant">,
  result: JsonSchema | undefined,
  place: string,
): Promise<Schema | undefined> {
  if (result === undefined) return undefined;
  try {
    return await new Lane(tenant).run(() => storedSchema(result, { longest: SCHEMA_LENGTH }));
  } catch (error) {
    if (!PortcullisError.is(error) || error.code !== "option_invalid") throw error;
    const message = error.message.replace("jsonSchema(schema): ", "");
    throw new RequestProblem("request_invalid", `${place}: ${cleanText(cutMiddle(message, FAULT_BYTES))}`);
  }
}

/**
 * Whether the journal has this program under the id already. A program whose text was redacted is compared by the
 * runtime, which takes as long as it runs.
 */
async function isTheSame(
  { runtime }: ApiParts,
  { key, body }: ExecuteRequest,
  id: ExecutionId,
  settings: string,
): Promise<boolean> {
  if (body.id === undefined || !(await findIfKnown(runtime.journal, id))) return false;
  const header = await readHeader(runtime.journal, id, { tenant: key.tenant });
  return (
    header?.kind === "program" &&
    header.tenant === key.tenant &&
    header.source === body.program &&
    header.owner?.settings === settings
  );
}

export function refuseLanguage(language: ExecuteRequest["body"]["language"], { sandbox }: Runtime): void {
  if (language !== undefined && !sandbox.languages.includes(language))
    throw new RequestProblem("request_invalid", `body.language: this server runs ${sandbox.languages.join(" and ")}.`);
}

export function refuseAboveLimits(limits: ExecuteRequest["body"]["limits"], { limits: allowed }: Runtime): void {
  for (const [name, value] of Object.entries(limits ?? {})) {
    const most = allowed[name as keyof Limits];
    if (most !== undefined && value !== undefined && value > most)
      throw new RequestProblem("request_invalid", `body.limits.${name}: at most ${most} for this key.`);
  }
}
