/*
 * The vendors' own paths, on any model. A request of a client comes in; its surface reads it; a conversation of this
 * server begins or goes on, whose calls wait for the client; its surface writes what the journal then says.
 */
import type { AgentEnding, AgentEvent } from "../../conversations/event.ts";
import type { Model } from "../../models/model.ts";
import { type SurfaceRequest, RefusedAsk, type ReplyWriter, type Surface } from "./surface/surface.ts";
import { fieldOf, jsonInParts, Lane, memoryOf, type TextReader, untilAborted } from "../../base/index.ts";
import { jsonAnswer } from "../api/json-answer.ts";
import { refuseRevoked, takePlace } from "../api/parts.ts";
import { countedStream, holdAnswer } from "../http/counted-answer.ts";
import type { Key } from "../http/keys.ts";
import { isOperators, problemOf, RequestProblem } from "../http/problems.ts";
import { readJsonBody } from "../http/read-json.ts";
import { clientIds } from "./carried/client-ids.ts";
import { isStoredExecution, newExecution } from "./carried/seals.ts";
import { clientTools } from "./client-tools.ts";
import { begunDrive, type Drive } from "./drive.ts";
import { historyAsked, transcriptOf } from "./history.ts";
import type { Exchange, GatewayParts, AnswerPlace } from "./gateway-parts.ts";
import { liveReply } from "./live-reply.ts";
import { executionAsked, type Plan, planOf } from "./plan.ts";
import { ifKnown } from "../../journal/reading/index.ts";
import { newRequestId, refusalOf, refusalOfEnding } from "./refusals.ts";
import { readReplies } from "./from-journal/replies.ts";
import { answerHead, readAnswer } from "./from-journal/read-answer.ts";
import { optionsFor } from "./say-options.ts";
import { storedItems, partText } from "./stored-answers.ts";
import { tokensInParts } from "../../tools/count-tokens.ts";

interface DrivingParts extends GatewayParts {
  /** What is driven now, by its execution. */
  readonly driven: Map<string, Drive>;
}

/** A request with what answers it, and where. */
interface Planned extends Exchange, AnswerPlace {
  readonly driven: DrivingParts["driven"];
  readonly plan: Plan;
}

const WHAT = "wait for their answers";

/** What a turn of a history takes while its request is answered, beside its texts. */
const TURN_BYTES = 8 * 1024;

/** Endings after which nothing of an answer that is not stored can be asked for: no call waits, and no turn is left. */
const LAST: ReadonlySet<AgentEnding["type"] | undefined> = new Set([
  "answered",
  "answer_invalid",
  "refused",
  "cut_off",
] as const);

/** Answers a request on a path of this surface. Throws what `refuse` of its route writes. */
export async function answerRequest(
  parts: DrivingParts,
  surface: Surface,
  request: Request,
  key: Key,
): Promise<Response> {
  const { readings, expiry, keys } = parts;
  const { value, held: bodyHeld } = await readBody(parts, request, key);
  using held = bodyHeld;
  const ids = clientIds(parts.secrets, key, surface.ids);
  const hold = (more: number) => held.defer(parts.open.hold(key, more, WHAT));
  const { signal, headers } = request;
  const items = () => storedItems(parts, surface, value, { ids, key, hold });
  const stored = await readings.run(key.id, signal, items);
  // Each takes as long as its part of a turn of the loop, so no two are in one.
  const lane = new Lane(key.tenant);
  const read = await lane.run(() => surface.read(value, headers, false, stored));
  const model = modelOf(parts, read.model);
  const asked = answerable(read, model);
  const tools = await lane.work(clientTools(asked.tools));
  const reader = readerOf(parts, request, key);
  const runtime = keys.runtimeOf(key, "gateway");
  const of = { surface, key, reader, signal, asked, tools, ids, model, runtime, requestId: newRequestId() };
  const exchange = { ...parts, ...of };
  // Of several requests that go on with one conversation, each sees what came of the one before.
  const target = executionAsked(exchange);
  if (target !== undefined) held.defer(await expiry.turns.take(target));
  const plan = await readings.run(key.id, signal, () => planOf(exchange, target));
  const isNew = plan.type === "begin";
  const execution = isNew ? newExecution(asked.isStored === true) : target!;
  const planned = { ...exchange, plan, execution, reply: plan.reply };
  // Nobody else has a conversation that begins, so no two requests wait for each other's.
  if (isNew) held.defer(await expiry.turns.take(execution));
  held.defer(() => void expiry.note(execution, key.tenant));
  const history = isNew ? (plan.history ?? (await lane.run(() => historyAsked(asked, tools, model.name)))) : [];
  hold(history.length * TURN_BYTES);
  if (history.length > 0) {
    // The conversation begins with what was before what its client says now.
    const begun = { id: execution, tenant: key.tenant, from: transcriptOf(history, asked, model.name) };
    await (await runtime.conversation({ ...optionsFor(planned), ...begun })).leave();
  }
  return asked.isStreamed ? await streamed(planned, held) : await whole(planned);
}

/** Counts the tokens of a request, which is read as if it was to be answered. */
export async function countRequest(
  parts: GatewayParts,
  surface: Surface,
  request: Request,
  key: Key,
): Promise<Response> {
  const { value, held } = await readBody(parts, request, key);
  using _ = held;
  const lane = new Lane(key.tenant);
  const asked = await lane.run(() => surface.read(value, request.headers, true));
  modelOf(parts, asked.model);
  const fields = ["system", "instructions", "tools", "messages", "input"].map((name) => [name, fieldOf(value, name)]);
  // About how many it has as one text.
  const tokens = await lane.work(tokensInParts(await lane.work(jsonInParts(Object.fromEntries(fields)))));
  return Response.json(surface.counted(tokens), { headers: { [surface.requestIdHeader]: newRequestId() } });
}

/** Reads a body. What it holds is released at the end of the answer. */
async function readBody(parts: GatewayParts, request: Request, key: Key) {
  const { maxBodyBytes, open, isReady, keys, atOnce } = parts;
  if (!isReady()) throw new RequestProblem("server_closing", "The server is closing. Try again later.");
  const { value, bytes } = await readJsonBody(request, { most: maxBodyBytes, reader: readerOf(parts, request, key) });
  refuseRevoked({ keys, key });
  using held = new DisposableStack();
  held.defer(open.hold(key, bytes, WHAT));
  held.defer(takePlace({ atOnce, key }));
  return { value, held: held.move() };
}

function readerOf({ open }: GatewayParts, { signal }: Request, key: Key): TextReader {
  return { tenant: key.tenant, signal, hold: (bytes) => open.hold(key, bytes, WHAT) };
}

/** The model by its name without its provider. */
function modelOf({ served }: GatewayParts, name: string): Model {
  const model = served.named(name);
  if (model) return model;
  throw new RefusedAsk({ kind: "not_found", place: "model", message: `model: ${name.slice(0, 200)}` });
}

async function whole(planned: Planned): Promise<Response> {
  using answer = await ended(planned);
  const { surface, key, requestId } = planned;
  const response = await jsonAnswer(key, surface.reply(answer.parts, answer.end, answer.facts));
  response.headers.set(surface.requestIdHeader, requestId);
  return response;
}

/** Drives the conversation to the end of the answer, and reads what the journal then has of it. */
async function ended(planned: Planned, onEvent?: (event: AgentEvent) => void) {
  // A model may take its time to hear that its turn was ended.
  const ending = await untilAborted(driven(planned, onEvent), planned.keys.signalOf(planned.key));
  const refusal = ending && refusalOfEnding(ending);
  if (refusal) throw new RefusedAsk(refusal);
  const answer = await held(planned);
  await forget(planned, ending);
  return answer;
}

/** Ends the conversation of an answer that its client has asked not to store, unless the client has left before it had it. */
async function forget(
  { asked, key, signal, execution, expiry, onError }: Planned,
  ending: AgentEnding | undefined,
): Promise<void> {
  if (asked.isStored !== false || isStoredExecution(execution) || signal.aborted || !LAST.has(ending?.type)) return;
  // If it cannot be ended now, it ends with what clients have left.
  await expiry.end(execution, key.tenant).catch(onError);
}

/** What the journal has of an answer. Its key holds it until it is disposed of. */
async function held(planned: Planned) {
  const { key, open, readings } = planned;
  const answer = await readings.run(key.id, undefined, () => readAnswer(planned));
  const bytes = answer.parts.reduce((sum, part) => sum + memoryOf(partText(part)), 0);
  return { ...answer, [Symbol.dispose]: holdAnswer(bytes, { open, key }) };
}

/** The answer begins with the first piece that there is: until then a failure has its own status. */
async function streamed(planned: Planned, body: DisposableStack): Promise<Response> {
  const { surface, requestId, open, key } = planned;
  const begun = Promise.withResolvers<void>();
  const disconnect = new AbortController();
  const encoder = new TextEncoder();
  const writer = surface.writer(answerHead(planned));
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => {
      const send = (text: string) => {
        if (disconnect.signal.aborted) return;
        controller.enqueue(encoder.encode(text));
        begun.resolve();
      };
      const signal = AbortSignal.any([planned.signal, disconnect.signal]);
      const rest = body.move();
      void sent({ ...planned, signal }, writer, send)
        .catch(begun.reject)
        .finally(() => {
          rest.dispose();
          begun.resolve();
          if (!disconnect.signal.aborted) controller.close();
          disconnect.abort();
        });
    },
    cancel: () => disconnect.abort(),
  });
  await begun.promise;
  const headers = { [surface.requestIdHeader]: requestId, "content-type": "text/event-stream; charset=utf-8" };
  const refusal = (problem: RequestProblem) => writer.fail(refusalOf(problem), requestId);
  return countedStream(new Response(stream, { headers }), { open, key, refusal });
}

/** Rejects only before anything was sent. */
async function sent(planned: Planned, writer: ReplyWriter, send: (text: string) => void): Promise<void> {
  const { key, runtime, execution, ids, onError } = planned;
  // The answer goes on for long: of the conversation before it, only the count is kept.
  const turns = await ifKnown(
    async () => (await readReplies(runtime.journal, execution, key.tenant)).state.turns.length,
  );
  const live = liveReply({
    writer,
    execution,
    turns: turns ?? 0,
    lane: new Lane(key.tenant),
    read: () => held(planned),
    partOf: (part) => ids.spoken(execution, part),
    send,
  });
  try {
    using answer = await ended(planned, live.onEvent);
    await live.end(() => writer.end(answer.end, answer.facts));
  } catch (error) {
    if (!(await live.settled())) throw error;
    if (!(error instanceof RefusedAsk) && isOperators(problemOf(error))) onError(error);
    send(writer.fail(refusalOf(error), planned.requestId));
  }
}

/** Drives the conversation to the end of the answer, and resolves with how it rests. Nothing is driven for an answer that the journal has. */
async function driven(
  planned: Planned,
  onEvent: (event: AgentEvent) => void = () => {},
): Promise<AgentEnding | undefined> {
  const { plan, execution, runtime, key, signal } = planned;
  if (plan.type === "repeat") return undefined;
  const { results = {} } = plan;
  const answered = new Set(Object.keys(results));
  const note = async () => {
    if (answered.size > 0) await runtime.execution(execution, { tenant: key.tenant }).answer(results);
  };
  const asking = { signal, onEvent, answered };
  const under = planned.driven.get(execution);
  if (under) return under(asking, note);
  await note();
  return driveOf(planned)(asking);
}

function driveOf(planned: Planned): Drive {
  const { runs, metrics, onEvent: onAny, asked, model, runtime, key, plan, execution } = planned;
  const { tenant } = key;
  const message = plan.says && asked.userMessages.length > 0 ? asked.userMessages : undefined;
  const drive = begunDrive((disconnect, onEvent) =>
    runs
      .run(execution, async (cancel) => {
        const options = optionsFor(planned, (event) => {
          onEvent(event);
          onAny(event);
          if (event.type === "turn_ended") metrics.spent(tenant, model.name, event.usage);
        });
        const signal = AbortSignal.any([cancel, disconnect]);
        return (await runtime.execution(execution, { tenant }).send<unknown>(message, { ...options, signal })).ending;
      })
      .finally(() => planned.driven.delete(execution)),
  );
  planned.driven.set(execution, drive);
  return drive;
}

/** A request without what the model cannot give and its client can do without. */
function answerable(asked: SurfaceRequest, { givesSummaries = false }: Model): SurfaceRequest {
  const { reasoning, ...settings } = asked.settings;
  if (givesSummaries || reasoning?.summary !== true) return asked;
  const { effort } = reasoning;
  return { ...asked, settings: effort === undefined ? settings : { ...settings, reasoning: { effort } } };
}
