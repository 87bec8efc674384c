/*
 * The vendors' own paths, on any model. A request of a client comes in; its surface reads it; a conversation of this
 * server begins or goes on, whose calls wait for the client; its surface writes what the journal then says.
 */
import type { AgentEnding } from "../../conversations/ending.ts";
import type { AgentEvent } from "../../conversations/event.ts";
import type { Model } from "../../models/model.ts";
import { type SurfaceRequest, RefusedAsk, type ReplyWriter, type Surface } from "./surface/surface.ts";
import {
  fieldOf,
  jsonInParts,
  Lane,
  memoryOf,
  type SlicedWork,
  type TextReader,
  untilAborted,
} from "../../base/index.ts";
import { jsonAnswer } from "../api/json-answer.ts";
import { refuseRevoked, takePlace } from "../api/parts.ts";
import { countedStream, holdAnswer } from "../http/counted-answer.ts";
import type { Key } from "../http/keys.ts";
import { isOperators, problemOf, RequestProblem } from "../http/problems.ts";
import { readJson } from "../http/read-json.ts";
import { ClientIds } from "./carried/client-ids.ts";
import { isStoredExecution, newExecution } from "./carried/seals.ts";
import { ClientTools } from "./client-tools.ts";
import { Drive } from "./drive.ts";
import { historyAsked, transcriptOf } from "./history.ts";
import type { Exchange, GatewayParts, Place } from "./gateway-parts.ts";
import { liveReply } from "./live-reply.ts";
import { executionAsked, type Plan, planOf } from "./plan.ts";
import type { TranscriptTurn } from "../../conversations/from-journal/index.ts";
import { newRequestId, refusalOf, refusalOfEnding } from "./refusals.ts";
import { readReplies } from "./from-journal/replies.ts";
import { headOf, told } from "./from-journal/told.ts";
import { optionsFor } from "./say-options.ts";
import { storedItems, textIn } from "./stored-answers.ts";
import { tokensInParts } from "../../tools/count-tokens.ts";

/** What answers a request, and where. */
interface Planned {
  readonly plan: Plan;
  readonly place: Place;
  /** Turns of the history with which a conversation begins. */
  readonly copied: number;
}

/** An answer that is sent while it comes. */
interface Streaming extends Planned {
  readonly writer: ReplyWriter;
  readonly send: (text: string) => void;
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

export class Gateway {
  readonly #parts: GatewayParts;
  /** What is driven now, by its execution. */
  readonly #driven = new Map<string, Drive>();

  constructor(parts: GatewayParts) {
    this.#parts = parts;
  }

  /** Answers a request on a path of this surface. Throws what `refuse` of its route writes. */
  async answer(surface: Surface, request: Request, key: Key): Promise<Response> {
    const { value, held } = await this.#read(request, key);
    try {
      const ids = new ClientIds(this.#parts.secrets, key, surface.ids);
      const hold = (more: number) => held.defer(this.#parts.open.hold(key, more, WHAT));
      const { readings } = this.#parts;
      const items = () => storedItems(this.#parts, surface, value, { ids, key, hold });
      const stored = await readings.run(key.id, request.signal, items);
      // Each takes as long as its part of a turn of the loop, so no two are in one.
      const lane = new Lane(key.tenant);
      const read = await lane.run(() => surface.read(value, request.headers, false, stored));
      const model = this.#modelOf(read.model);
      const asked = answerable(read, model);
      const exchange = {
        surface,
        key,
        reader: this.#reader(request, key),
        signal: request.signal,
        asked,
        tools: await lane.work(ClientTools.made(asked.tools)),
        ids,
        model,
        runtime: this.#parts.keys.runtimeOf(key, "gateway"),
        requestId: newRequestId(),
        pauseMs: this.#parts.pauseMs,
      };
      // Of several requests that go on with one conversation, each sees what came of the one before.
      const known = executionAsked(exchange);
      if (known !== undefined) held.defer(await this.#parts.expiry.turns.take(known));
      const plan = await readings.run(key.id, request.signal, () => planOf(exchange, known));
      const isNew = plan.type === "begin" || known === undefined;
      const execution = isNew ? newExecution(asked.isStored === true) : known;
      const place = { execution, reply: plan.type === "begin" ? 0 : plan.reply };
      // Nobody else has a conversation that begins, so no two requests wait for each other's.
      if (isNew) held.defer(await this.#parts.expiry.turns.take(execution));
      held.defer(() => void this.#parts.expiry.note(place.execution, key.tenant));
      const history =
        plan.type === "begin"
          ? (plan.history ?? (await lane.run(() => historyAsked(asked, exchange.tools, model.name))))
          : [];
      hold(history.length * TURN_BYTES);
      if (history.length > 0) await this.#copyHistory(exchange, history, place);
      const planned = { plan, place, copied: history.length };
      return await (asked.isStreamed ? this.#streamed(exchange, planned, held) : this.#whole(exchange, planned, held));
    } catch (error) {
      held.dispose();
      throw error;
    }
  }

  /** Counts the tokens of a request, which is read as if it was to be answered. */
  async count(surface: Surface, request: Request, key: Key): Promise<Response> {
    const { value, held } = await this.#read(request, key);
    try {
      const lane = new Lane(key.tenant);
      const asked = await lane.run(() => surface.read(value, request.headers, true));
      this.#modelOf(asked.model);
      const tokens = await lane.work(countedTokens(value));
      return Response.json(surface.counted(tokens), { headers: { [surface.requestIdHeader]: newRequestId() } });
    } finally {
      held.dispose();
    }
  }

  /** Reads a body. What it holds is released at the end of the answer. */
  async #read(request: Request, key: Key): Promise<{ readonly value: unknown; readonly held: DisposableStack }> {
    const { maxBodyBytes, open, isReady } = this.#parts;
    if (!isReady()) throw new RequestProblem("server_closing", "The server is closing. Try again later.");
    const { value, bytes } = await readJson(request, { most: maxBodyBytes, reader: this.#reader(request, key) });
    refuseRevoked(this.#parts, key);
    using held = new DisposableStack();
    held.defer(open.hold(key, bytes, WHAT));
    held.defer(takePlace(this.#parts, key));
    return { value, held: held.move() };
  }

  #reader({ signal }: Request, key: Key): TextReader {
    return { tenant: key.tenant, signal, hold: (bytes) => this.#parts.open.hold(key, bytes, WHAT) };
  }

  /** The model by its name without its provider. */
  #modelOf(name: string): Model {
    const { served } = this.#parts;
    const model = served.named(name);
    if (model) return model;
    throw new RefusedAsk({ kind: "not_found", place: "model", message: `model: ${name.slice(0, 200)}` });
  }

  async #whole(exchange: Exchange, planned: Planned, held: DisposableStack): Promise<Response> {
    using answer = await this.#ended(exchange, planned);
    const { surface, key, requestId } = exchange;
    const response = await jsonAnswer(key, surface.reply(answer.parts, answer.end, answer.facts));
    held.dispose();
    response.headers.set(surface.requestIdHeader, requestId);
    return response;
  }

  /** Drives the conversation to the end of the answer, and reads what the journal then has of it. */
  async #ended(exchange: Exchange, planned: Planned, onEvent?: (event: AgentEvent) => void) {
    // A model may take its time to hear that its turn was ended.
    const ending = await untilAborted(this.#drive(exchange, planned, onEvent), this.#parts.keys.signalOf(exchange.key));
    const refusal = ending && refusalOfEnding(ending);
    if (refusal) throw new RefusedAsk(refusal);
    const answer = await this.#told(exchange, planned.place);
    await this.#forget(exchange, planned.place, ending);
    return answer;
  }

  /** Ends the conversation of an answer that its client has asked not to store, unless the client has left before it had it. */
  async #forget({ asked, key, signal }: Exchange, { execution }: Place, ending: AgentEnding | undefined) {
    if (asked.isStored !== false || isStoredExecution(execution) || signal.aborted || !LAST.has(ending?.type)) return;
    try {
      await this.#parts.expiry.end(execution, key.tenant);
    } catch (error) {
      // It ends with what clients have left.
      this.#parts.onError(error);
    }
  }

  /** What the journal has of an answer. Its key holds it until it is disposed of. */
  async #told(exchange: Exchange, place: Place) {
    const { key } = exchange;
    const answer = await this.#parts.readings.run(key.id, undefined, () => told(exchange, place));
    const bytes = answer.parts.reduce((sum, part) => sum + memoryOf(textIn(part)), 0);
    const release = holdAnswer(bytes, { open: this.#parts.open, key });
    return { ...answer, [Symbol.dispose]: release };
  }

  /** The answer begins with the first piece that there is: until then a failure has its own status. */
  async #streamed(exchange: Exchange, planned: Planned, held: DisposableStack): Promise<Response> {
    const { place } = planned;
    const begun = Promise.withResolvers<void>();
    const left = new AbortController();
    const encoder = new TextEncoder();
    const writer = exchange.surface.writer(headOf(exchange, place));
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const send = (text: string) => {
          if (left.signal.aborted) return;
          controller.enqueue(encoder.encode(text));
          begun.resolve();
        };
        const signal = AbortSignal.any([exchange.signal, left.signal]);
        void this.#stream({ ...exchange, signal }, { ...planned, writer, send })
          .catch(begun.reject)
          .finally(() => {
            held.dispose();
            begun.resolve();
            if (!left.signal.aborted) controller.close();
            left.abort();
          });
      },
      cancel: () => left.abort(),
    });
    await begun.promise;
    const { surface, requestId } = exchange;
    const headers = { [surface.requestIdHeader]: requestId, "content-type": "text/event-stream; charset=utf-8" };
    return countedStream(new Response(stream, { headers }), {
      open: this.#parts.open,
      key: exchange.key,
      refusal: (problem) => writer.fail(refusalOf(problem), requestId),
    });
  }

  /** Rejects only before anything was sent. */
  async #stream(exchange: Exchange, { writer, send, ...planned }: Streaming): Promise<void> {
    const { key, requestId } = exchange;
    const { runtime } = this.#parts;
    const { plan, place, copied } = planned;
    const turnsBefore = async () =>
      (await readReplies(runtime.journal, place.execution, key.tenant)).state.turns.length;
    const { execution } = place;
    const live = liveReply({
      writer,
      execution,
      turns: plan.type === "begin" ? copied : await turnsBefore(),
      lane: new Lane(key.tenant),
      read: () => this.#told(exchange, place),
      partOf: (key) => exchange.ids.spoken(execution, key),
      send,
    });
    try {
      using answer = await this.#ended(exchange, planned, live.onEvent);
      await live.end(() => writer.end(answer.end, answer.facts));
    } catch (error) {
      if (!(await live.settled())) throw error;
      if (!(error instanceof RefusedAsk) && isOperators(problemOf(error))) this.#parts.onError(error);
      send(writer.fail(refusalOf(error), requestId));
    }
  }

  /** Begins the conversation with what was before what its client says now. */
  async #copyHistory(exchange: Exchange, history: readonly TranscriptTurn[], { execution: id }: Place): Promise<void> {
    const { asked, model, runtime, key } = exchange;
    const options = optionsFor(exchange, this.#parts.served.offer);
    const from = transcriptOf(history, asked, model.name);
    await (await runtime.conversation({ ...options, id, tenant: key.tenant, from })).leave();
  }

  /** Drives the conversation to the end of the answer, and resolves with how it rests. Nothing is driven for an answer that the journal has. */
  async #drive(
    exchange: Exchange,
    planned: Planned,
    onEvent: (event: AgentEvent) => void = () => {},
  ): Promise<AgentEnding | undefined> {
    const { plan, place } = planned;
    if (plan.type === "repeat") return undefined;
    const { execution } = place;
    const { runtime, key, signal } = exchange;
    const results = plan.type === "go_on" ? plan.results : {};
    const answered = new Set(Object.keys(results));
    const note = async () => {
      if (answered.size > 0) await runtime.execution(execution, { tenant: key.tenant }).answer(results);
    };
    const asking = { signal, onEvent, answered };
    const held = this.#driven.get(execution);
    if (held) return held.untilAnswer(asking, note);
    await note();
    return this.#driveOf(exchange, planned).untilAnswer(asking);
  }

  #driveOf(exchange: Exchange, { plan, place: { execution } }: Planned): Drive {
    const { served, runs, metrics, onEvent: onAny } = this.#parts;
    const { asked, model, runtime, key } = exchange;
    const { tenant } = key;
    const says = plan.type === "begin" || (plan.type === "go_on" && plan.says === true);
    const message = says && asked.said.length > 0 ? asked.said : undefined;
    const drive = new Drive((left, onEvent) =>
      runs
        .run(execution, async (cancel) => {
          const options = optionsFor(exchange, served.offer, (event) => {
            onEvent(event);
            onAny(event);
            if (event.type === "turn_ended") metrics.spent(tenant, model.name, event.usage);
          });
          const signal = AbortSignal.any([cancel, left]);
          return (await runtime.execution(execution, { tenant }).send<unknown>(message, { ...options, signal })).ending;
        })
        .finally(() => this.#driven.delete(execution)),
    );
    this.#driven.set(execution, drive);
    return drive;
  }
}

/** A request without what the model cannot give and its client can do without. */
function answerable(asked: SurfaceRequest, { givesSummaries = false }: Model): SurfaceRequest {
  const { reasoning, ...settings } = asked.settings;
  if (givesSummaries || reasoning?.summary !== true) return asked;
  const { effort } = reasoning;
  return { ...asked, settings: effort === undefined ? settings : { ...settings, reasoning: { effort } } };
}

/** About how many tokens a request has: its instructions, tools and messages, each as one text. */
function* countedTokens(body: unknown): SlicedWork<number> {
  let tokens = 0;
  for (const name of ["system", "instructions", "tools", "messages", "input"]) {
    const part = fieldOf(body, name);
    if (part !== undefined) tokens += yield* tokensInParts(yield* jsonInParts(part));
  }
  return tokens;
}
