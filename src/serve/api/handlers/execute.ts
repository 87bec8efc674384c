import { hash, randomUUID } from "node:crypto";
import type { z } from "zod";
import { cleanText, cutMiddle, type ExecutionId, Lane, hasCode } from "../../../base/index.ts";
import type { Report } from "../../../executions/output/index.ts";
import { findIfKnown, readHeader } from "../../../journal/reading/index.ts";
import type { Key } from "../../http/keys.ts";
import { RequestProblem } from "../../http/problems.ts";
import { limitAbove } from "../../runtime-for.ts";
import type { JsonSchema } from "../../../tools/json-schema/index.ts";
import { type Schema, storedSchema } from "../../../tools/schema.ts";
import { type EXECUTE_BODY, FAULT_BYTES, SCHEMA_LENGTH } from "../bodies.ts";
import { jsonAnswer } from "../json-answer.ts";
import {
  acceptedResponse,
  type ApiRequest,
  ownUnless,
  refuseElsewhere,
  refuseIfElsewhere,
  takePlace,
  untilBegun,
} from "../parts.ts";
import { reportAnswer } from "./show.ts";

type ExecuteRequest = ApiRequest<z.output<typeof EXECUTE_BODY>>;

/** `POST /v1/executions`: runs a program. What has begun goes on, whatever becomes of the request. */
export async function handleExecute(request: ExecuteRequest): Promise<Response> {
  const { key, body } = request;
  const { id: _id, program, wait: _wait, ...chosen } = body;
  if (body.maxAgeMs !== undefined && body.corrects === undefined)
    throw new RequestProblem("request_invalid", "body.maxAgeMs: it goes with `corrects`, and there is none.");
  const asked = { language: "javascript", ...chosen };
  const { runtime, settings, id, schema: result } = await beginning(request, asked, ["result", body.result]);
  const corrects = body.corrects === undefined ? undefined : await earlierOf(request, body.corrects, id);
  const release = takePlace(request);
  const begun = Promise.withResolvers<void>();
  const { language, limits, maxAgeMs } = chosen;
  const options = { language, limits, result, corrects, maxAgeMs };
  const drive = () => request.driving.run({ runtime, program, execution: id, settings: options }, begun.resolve);
  const isKnown = await isTheSame(request, id, settings).catch((error: unknown) => {
    release();
    throw error;
  });
  const running = (isKnown ? again(request, id, drive) : drive()).finally(release);
  if (isKnown) begun.resolve();
  const report = await untilBegun(request, id, { running, stored: begun.promise });
  return report ? jsonAnswer(key, await reportAnswer(request, report)) : acceptedResponse(request, id);
}

/**
 * The id in the journal of the execution that a new one corrects. The journal has to hold it by now: until this one has
 * a place, another key could begin that one, and nobody would check whether this key may have what it holds. An
 * execution that was begun before is only told, also if the one that it corrects is gone.
 */
async function earlierOf(request: ApiRequest, corrects: string, id: ExecutionId): Promise<ExecutionId> {
  if (!(await findIfKnown(request.runtime.journal, id)))
    return ownUnless({ ...request, id: corrects }, (header) => refuseElsewhere(request, header));
  const stored = await request.ids.stored(request.key.tenant, corrects);
  await refuseIfElsewhere(request, stored);
  return stored;
}

/**
 * Asks for an execution that exists. An ended execution is read in turn, as other requests read journals. A running
 * execution is asked for once it is over: otherwise all who ask for it would read it at once.
 */
async function again(
  { runtime, runs, inTurn }: ApiRequest,
  id: ExecutionId,
  drive: () => Promise<Report>,
): Promise<Report> {
  for (;;) {
    const { ended } = await runtime.journal.find(id);
    if (ended) return inTurn(drive);
    // Nothing else can begin between this check and the beginning of the work.
    if (!runs.has(id)) return drive();
    await runs.settled(id);
  }
}

type Beginning = Pick<ExecuteRequest["body"], "id" | "language" | "limits">;

/**
 * What a request begins: the runtime of its key, its settings as a digest, its schema, and its id in the journal. Throws a
 * `RequestProblem` for what the key may not have. `asked`: all that the settings are made of.
 */
export async function beginning(
  request: ApiRequest<Beginning>,
  asked: object,
  [field, jsonSchema]: readonly [field: string, schema: JsonSchema | undefined],
) {
  const { key, about, body, ids } = request;
  const { id, language, limits } = body;
  const settings = hash("sha256", JSON.stringify(asked));
  const runtime = request.keys.runtimeOf(key).derive({}, { owner: { key: key.id, settings } });
  const above = limitAbove(limits, runtime.limits);
  if (above)
    throw new RequestProblem("request_invalid", `body.limits.${above.name}: at most ${above.most} for this key.`);
  const { languages } = runtime.sandbox;
  if (language !== undefined && !languages.includes(language))
    throw new RequestProblem("request_invalid", `body.language: this server runs ${languages.join(" and ")}.`);
  const schema = await schemaOf(key, jsonSchema, `body.${field}`);
  const stored = id === undefined ? randomUUID() : await ids.stored(key.tenant, id);
  await refuseIfElsewhere(request, stored);
  about(id ?? stored);
  return { runtime, settings, schema, id: stored };
}

/** The schema in a form that takes little memory: many executions that wait for a place are held at once. */
async function schemaOf(
  { tenant }: Pick<Key, "tenant">,
  result: JsonSchema | undefined,
  place: string,
): Promise<Schema | undefined> {
  if (result === undefined) return undefined;
  try {
    return await new Lane(tenant).run(() => storedSchema(result, { longest: SCHEMA_LENGTH }));
  } catch (error) {
    if (!hasCode(error, "option_invalid")) throw error;
    const message = error.message.replace("jsonSchema(schema): ", "");
    throw new RequestProblem("request_invalid", `${place}: ${cleanText(cutMiddle(message, FAULT_BYTES))}`);
  }
}

/**
 * Whether the journal has this program under the id already. A program whose text was redacted is compared by the
 * runtime, which takes as long as it runs.
 */
async function isTheSame({ runtime, key, body }: ExecuteRequest, id: ExecutionId, settings: string): Promise<boolean> {
  if (body.id === undefined || !(await findIfKnown(runtime.journal, id))) return false;
  const header = await readHeader(runtime.journal, id, { tenant: key.tenant });
  return (
    header?.kind === "program" &&
    header.tenant === key.tenant &&
    header.source === body.program &&
    header.owner?.settings === settings
  );
}
