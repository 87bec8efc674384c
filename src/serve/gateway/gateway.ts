/*
 * The vendors' own paths, on any model. A request of a client comes in; its surface reads it; a conversation of this
 * server begins or goes on, whose calls wait for the client; its surface writes what the journal then says.
 */
import { randomBytes } from "node:crypto";
import type { AgentEnding } from "../../agent/ending.ts";
import type { AgentEvent } from "../../agent/event.ts";
import { PortcullisError } from "../../errors.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Model } from "../../models/model.ts";
import {
  type Asked,
  type Refusal,
  RefusedAsk,
  type ReplyEnd,
  type ReplyFacts,
  type ReplyPart,
  type StoredItems,
  type Surface,
} from "../../models/surface/surface.ts";
import type { Runtime } from "../../runtime.ts";
import type { Fields } from "../../values/fields.ts";
import { Lane } from "../../values/slice-scheduler.ts";
import { type ApiParts, currentRuntime, refuseRevoked, takePlace } from "../api/parts.ts";
import type { Key } from "../http/keys.ts";
import { isOperators, problemOf, RequestProblem } from "../http/problems.ts";
import { declaredBytes, readJson } from "../http/read-json.ts";
import { ClientIds, turnOfKey } from "./client-ids.ts";
import { ClientTools } from "./client-tools.ts";
import { countedTokens } from "./count-tokens.ts";
import { historyAsked, transcriptOf } from "./history.ts";
import { LiveReply } from "./live-reply.ts";
import { executionAsked, type Plan, planOf, previousOf } from "./plan.ts";
import { inputsOf } from "./inputs.ts";
import { refusalOf, refusalOfEnding } from "./refusals.ts";
import { type Replies, readReplies } from "./replies.ts";
import { optionsFor } from "./say-options.ts";
import { newExecution, type Seals } from "./seals.ts";
import { Turns } from "./turns.ts";

export interface GatewayParts extends ApiParts {
  readonly seals: Seals;
  /** How long a paused program waits for its client, in milliseconds. */
  readonly pauseMs: number;
  readonly maxBodyBytes: number;
}

/** One request on its way. */
interface Exchange {
  readonly surface: Surface;
  readonly key: Key;
  readonly signal: AbortSignal;
  readonly asked: Asked;
  readonly tools: ClientTools;
  readonly ids: ClientIds;
  readonly model: Model;
  readonly runtime: Runtime;
  readonly requestId: string;
}

/** What an answer is told with. */
interface Telling extends Pick<Exchange, "ids" | "tools" | "key"> {
  readonly asked: Pick<Asked, "model" | "echo" | "isStored">;
}

const NO_TOOLS = new ClientTools([]);

/** An answer that the journal has, or is to have. */
interface Place {
  readonly execution: string;
  readonly reply: number;
}

const WHAT = "wait for their answers";

/** Gives back what a request holds. Does nothing the second time. */
function release(held: (() => void)[]): void {
  for (const give of held.splice(0)) give();
}

export class Gateway {
  readonly #parts: GatewayParts;
  readonly #turns = new Turns();

  constructor(parts: GatewayParts) {
    this.#parts = parts;
  }

  /** Answers a request on a path of this surface. Throws what `refuse` of its route writes. */
  async answer(surface: Surface, request: Request, key: Key): Promise<Response> {
    const { value, held } = await this.#read(request, key);
    try {
      const ids = new ClientIds(this.#parts.seals, key, surface.ids);
      const asked = surface.read(value, request.headers, false, await this.#stored(surface, value, { ids, key }));
      const exchange = {
        surface,
        key,
        signal: request.signal,
        asked,
        tools: new ClientTools(asked.tools),
        ids,
        model: this.#modelOf(asked.model),
        runtime: currentRuntime(this.#parts, key),
        requestId: newRequestId(),
      };
      // Of several requests that go on with one conversation, each sees what came of the one before.
      const execution = executionAsked(exchange, asked);
      if (execution !== undefined) held.push(await this.#turns.take(execution));
      const plan = await planOf(exchange, asked, exchange.tools);
      return await (asked.isStreamed ? this.#streamed(exchange, plan, held) : this.#whole(exchange, plan, held));
    } catch (error) {
      release(held);
      throw error;
    }
  }

  /** The items to which a request refers, as far as this server has given them to the key. */
  async #stored(surface: Surface, body: unknown, { ids, key }: Pick<Exchange, "ids" | "key">): Promise<StoredItems> {
    const items = new Map<string, Fields>();
    const known = new Set<string>();
    for (const id of surface.references?.(body) ?? []) {
      const execution = ids.executionOf(id);
      if (execution === undefined || known.has(execution)) continue;
      known.add(execution);
      const replies = await repliesIfAny(this.#parts.runtime.journal, execution, key.tenant);
      for (const { parts } of replies?.all ?? [])
        for (const part of parts) {
          const item = surface.item?.(ids.part(execution, part, NO_TOOLS));
          if (item) items.set(String(item.id), item);
        }
    }
    return items;
  }

  /** Throws `RefusedAsk` if there is no answer of this id for this key. */
  async #given(surface: Surface, id: string, key: Key) {
    const ids = new ClientIds(this.#parts.seals, key, surface.ids);
    const found = await previousOf({ runtime: this.#parts.runtime, key, ids }, id);
    if (found) return { ids, found };
    throw new RefusedAsk({ kind: "not_found", message: `Response with id '${id.slice(0, 256)}' not found.` });
  }

  /** What was new in the request of an answer that was given before. */
  async showInput(surface: Surface, id: string, key: Key): Promise<Response> {
    const { ids, found } = await this.#given(surface, id, key);
    const headers = { [surface.requestIdHeader]: newRequestId() };
    return Response.json(surface.inputs?.(inputsOf(found, ids)), { headers });
  }

  /** Ends the conversation of an answer that was given before: none of its answers is given again. */
  async remove(surface: Surface, id: string, key: Key): Promise<Response> {
    const { found } = await this.#given(surface, id, key);
    const { execution, replies } = found;
    const { runtime, served } = this.#parts;
    const end = await this.#turns.take(execution);
    try {
      const { model: name } = replies.state.answering;
      const model = served.continuing({
        execution,
        tenant: key.tenant,
        ...(await this.#statusOf(execution, key, name)),
      });
      const options = { model, tenant: key.tenant, allowChangedTools: true };
      const signal = AbortSignal.abort(new Error("A client has deleted it."));
      if (replies.state.open.size > 0)
        await runtime.resumeAgent(execution, { ...options, signal, approve: () => "later" });
      const talk = await runtime.converse({ ...options, continue: execution });
      await talk[Symbol.asyncDispose]();
    } finally {
      end();
    }
    const headers = { [surface.requestIdHeader]: newRequestId() };
    return Response.json({ id, object: "response", deleted: true }, { headers });
  }

  async #statusOf(execution: string, { tenant }: Key, model: string) {
    const { conversation } = await this.#parts.runtime.status(execution, { tenant });
    if (!conversation) throw new Error("A conversation has the status of one.");
    return { ...conversation, model };
  }

  /** An answer that was given before. */
  async show(surface: Surface, id: string, key: Key): Promise<Response> {
    const { ids, found } = await this.#given(surface, id, key);
    const { header, answering } = found.replies.state;
    const model = header.model.slice(header.model.indexOf(":") + 1);
    const echo = { instructions: answering.instructions ?? null, tools: [], tool_choice: "auto", store: true };
    const asked = { model, echo, isStored: true };
    const { parts, end, facts } = await this.#told({ ids, tools: NO_TOOLS, key, asked }, found);
    const headers = { [surface.requestIdHeader]: newRequestId() };
    return Response.json(surface.reply(parts, end, { ...facts, at: header.startedAt }), { headers });
  }

  /** Counts the tokens of a request, which is read as if it was to be answered. */
  async count(surface: Surface, request: Request, key: Key): Promise<Response> {
    const { value, held } = await this.#read(request, key);
    try {
      const asked = surface.read(value, request.headers, true);
      this.#modelOf(asked.model);
      return Response.json(surface.counted(countedTokens(value)), {
        headers: { [surface.requestIdHeader]: newRequestId() },
      });
    } finally {
      release(held);
    }
  }

  /** Reads a body. What it holds is released at the end of the answer. */
  async #read(request: Request, key: Key): Promise<{ readonly value: unknown; readonly held: (() => void)[] }> {
    const { maxBodyBytes, open, isReady } = this.#parts;
    if (!isReady()) throw new RequestProblem("server_closing", "The server is closing. Try again later.");
    const reading = open.hold(key.id, declaredBytes(request, maxBodyBytes), WHAT);
    const { value, bytes } = await readJson(request, { most: maxBodyBytes, lane: new Lane(key.tenant) }).finally(
      reading,
    );
    refuseRevoked(this.#parts, key);
    const held = [open.hold(key.id, bytes, WHAT)];
    try {
      held.push(takePlace(this.#parts, key));
      return { value, held };
    } catch (error) {
      release(held);
      throw error;
    }
  }

  /** The model by its name without its provider. */
  #modelOf(name: string): Model {
    const { served } = this.#parts;
    const model = served.named(name);
    if (model) return model;
    throw new RefusedAsk({ kind: "not_found", place: "model", message: `model: ${name.slice(0, 200)}` });
  }

  async #whole(exchange: Exchange, plan: Plan, held: (() => void)[]): Promise<Response> {
    const place = await this.#placed(exchange, plan);
    const ending = await this.#drive(exchange, plan, place);
    const refusal = ending && refusalOfEnding(ending);
    if (refusal) throw new RefusedAsk(refusal);
    const { parts, end, facts } = await this.#told(exchange, place);
    release(held);
    return Response.json(exchange.surface.reply(parts, end, facts), { headers: headersOf(exchange) });
  }

  /** The answer begins with the first piece that there is: until then a failure has its own status. */
  async #streamed(exchange: Exchange, plan: Plan, held: (() => void)[]): Promise<Response> {
    const place = await this.#placed(exchange, plan);
    const begun = Promise.withResolvers<void>();
    const left = new AbortController();
    const encoder = new TextEncoder();
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const send = (text: string) => {
          if (left.signal.aborted) return;
          controller.enqueue(encoder.encode(text));
          begun.resolve();
        };
        const signal = AbortSignal.any([exchange.signal, left.signal]);
        void this.#stream({ ...exchange, signal }, { plan, place, send })
          .catch(begun.reject)
          .finally(() => {
            release(held);
            begun.resolve();
            if (!left.signal.aborted) controller.close();
          });
      },
      cancel: () => left.abort(),
    });
    await begun.promise;
    const headers = { ...headersOf(exchange), "content-type": "text/event-stream; charset=utf-8" };
    return new Response(stream, { headers });
  }

  /** Rejects only before anything was sent. */
  async #stream(
    exchange: Exchange,
    { plan, place, send }: { readonly plan: Plan; readonly place: Place; readonly send: (text: string) => void },
  ): Promise<void> {
    const { surface, key, requestId } = exchange;
    const { runtime } = this.#parts;
    const before = await readReplies(runtime.journal, place.execution, key.tenant).catch(() => undefined);
    const textId = (of: string) => exchange.ids.text(place.execution, turnOfKey(of));
    const writer = surface.writer({ ...headOf(exchange, place), state: undefined }, textId);
    const live = new LiveReply({
      writer,
      execution: place.execution,
      turns: before?.state.turns.length ?? 0,
      read: async () => (await this.#told(exchange, place)).parts,
      send,
    });
    try {
      const ending = await this.#drive(exchange, plan, place, live.onEvent);
      const refusal = ending && refusalOfEnding(ending);
      if (refusal) throw new RefusedAsk(refusal);
      const { end, facts } = await this.#told(exchange, place);
      await live.end(() => writer.end(end, facts));
    } catch (error) {
      await live.settled();
      if (!live.isBegun) throw error;
      if (!(error instanceof RefusedAsk) && isOperators(problemOf(error))) this.#parts.onError(error);
      send(writer.fail(refusalOf(error), requestId));
    }
  }

  /** Begins the conversation if there is none yet. */
  async #placed({ asked, tools, model, runtime, key }: Exchange, plan: Plan): Promise<Place> {
    if (plan.type !== "begin") return plan;
    const execution = newExecution();
    const history = plan.history ?? historyAsked(asked, tools, model.name);
    if (history.length === 0) return { execution, reply: 0 };
    const { served, pauseMs } = this.#parts;
    const options = optionsFor({ asked, tools, model, pauseMs, most: served.offer, onEvent: () => {} });
    const talk = await runtime.converse({
      ...options,
      execution,
      tenant: key.tenant,
      continue: transcriptOf(history, asked, model.name),
    });
    await talk.leave();
    return { execution, reply: 0 };
  }

  /** Drives the conversation to the end of the answer, and resolves with how it rests. Nothing is driven for an answer that the journal has. */
  async #drive(
    { asked, tools, model, runtime, key, signal: left }: Exchange,
    plan: Plan,
    { execution }: Place,
    onEvent: (event: AgentEvent) => void = () => {},
  ): Promise<AgentEnding | undefined> {
    if (plan.type === "repeat") return undefined;
    const { served, pauseMs, runs, onEvent: onAny } = this.#parts;
    const { tenant } = key;
    if (plan.type === "go_on" && Object.keys(plan.results).length > 0)
      await runtime.answer(execution, plan.results, { tenant });
    const says = plan.type === "begin" || plan.says === true;
    const message = says && asked.said.length > 0 ? asked.said : undefined;
    return runs.run(execution, async (cancel) => {
      // A client that has left may ask again: the conversation is left as it is, for then.
      const leaving = new AbortController();
      const onLeft = () => leaving.abort(new PortcullisError("runtime_suspended", "The client has left."));
      if (left.aborted) onLeft();
      left.addEventListener("abort", onLeft, { once: true });
      const options = optionsFor({
        asked,
        tools,
        model,
        pauseMs,
        most: served.offer,
        onEvent: (event) => {
          onEvent(event);
          onAny(event);
        },
      });
      try {
        const signal = AbortSignal.any([cancel, leaving.signal]);
        const { ending } = await runtime.say<unknown>(execution, message, { ...options, tenant, signal });
        return ending;
      } finally {
        left.removeEventListener("abort", onLeft);
      }
    });
  }

  async #told(exchange: Telling, place: Place) {
    const { ids, tools, key } = exchange;
    const { journal } = this.#parts.runtime;
    const replies = await repliesIfAny(journal, place.execution, key.tenant);
    const reply = replies?.all[place.reply];
    const parts = (reply?.parts ?? []).map((part): ReplyPart => ids.part(place.execution, part, tools));
    const waits = Math.min(...(reply?.calls ?? []).map(({ expiresAt }) => expiresAt));
    const hasPrograms = replies?.all.some((one) => one.parts.some(({ type }) => type === "program")) === true;
    const facts: ReplyFacts = {
      ...headOf(exchange, place),
      state: hasPrograms
        ? {
            id: ids.state(place.execution),
            expiresAt: Number.isFinite(waits) ? waits : Date.now() + this.#parts.pauseMs,
          }
        : undefined,
      usage: reply?.usage ?? { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 },
      programs: reply?.programs ?? { calls: 0, bytesIn: 0, bytesOut: 0 },
    };
    const end = endOf(reply?.ending, (reply?.calls.length ?? 0) > 0);
    return { parts, end, facts };
  }
}

async function repliesIfAny(journal: Journal, execution: string, tenant: string): Promise<Replies | undefined> {
  try {
    return await readReplies(journal, execution, tenant);
  } catch (error) {
    if (PortcullisError.is(error) && error.code === "execution_unknown") return undefined;
    throw error;
  }
}

/** How an answer ends after which the conversation rests so, or waits. */
function endOf(ending: AgentEnding | undefined, hasCalls: boolean): ReplyEnd {
  switch (ending?.type) {
    case undefined:
      return { type: hasCalls ? "called" : "stopped" };
    case "answered":
    case "answer_invalid":
      return { type: "answered" };
    case "cut_off":
    case "refused":
      return ending;
    default:
      return { type: "stopped" };
  }
}

function headOf({ ids, asked }: Pick<Telling, "ids" | "asked">, { execution, reply }: Place) {
  const id = ids.write("reply", { execution, numbers: [reply, asked.isStored ? 1 : 0] });
  return { id, model: asked.model, echo: asked.echo, at: Date.now() };
}

function headersOf({ surface, requestId }: Exchange): Record<string, string> {
  return { [surface.requestIdHeader]: requestId };
}

export function newRequestId(): string {
  return `req_${randomBytes(16).toString("hex")}`;
}

/** A refusal as a surface writes it. */
export function refusalResponse(surface: Surface, refusal: Refusal, requestId = newRequestId()): Response {
  const { status, body } = surface.refusal(refusal, requestId);
  return Response.json(body, { status, headers: { [surface.requestIdHeader]: requestId, ...refusal.headers } });
}
