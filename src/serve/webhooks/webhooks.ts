import { hash } from "node:crypto";
import {
  answerTo,
  Counts,
  deadline,
  hostOf,
  isOtherAddress,
  memoryOf,
  pause,
  Places,
  PortcullisError,
  publicLookup,
  thrownMessage,
} from "../../base/index.ts";
import type { AgentEvent } from "../../conversations/event.ts";
import { HOST, ifKnown, readHeader } from "../../journal/reading/index.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Waiting } from "../../executions/outcome.ts";
import type { TenantIds } from "../tenant-ids.ts";
import { signedHeaders } from "./signature.ts";
import { readWebhooks, type Webhook, type WebhookEvent, type WebhookOptions } from "./webhook-options.ts";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

/** Waits before each further attempt, in milliseconds: an hour and a half in all. Each is up to a fifth longer, by chance. */
const WAITS_MS: readonly number[] = [1000, 5000, 30_000, 120_000, 600_000, 4_500_000];
/** Requests of one webhook at once. */
const AT_ONCE = 8;
/** What the events of one webhook may hold until they are delivered, in bytes. A tenant may hold as much as it leaves to others. */
const MOST_BYTES = 32 * 1024 * 1024;
/** What an event holds beside its text, in bytes. */
const EVENT_BYTES = 512;
/** Events of which it is known that they were told. */
const MOST_KNOWN = 10_000;

export interface WebhookParts {
  readonly webhooks: readonly WebhookOptions[];
  readonly journal: Journal;
  readonly ids: TenantIds;
  readonly onError: (error: unknown) => void;
}

/** The body of a webhook. It has nothing of what a program computes with, nor of the inputs of calls. */
export interface WebhookBody {
  /** The same for each attempt, and for the same event told by another process. */
  readonly id: string;
  readonly type: WebhookEvent;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly execution: string;
  readonly kind: string;
  readonly tenant: string;
  /** Of an execution that waits: the calls that it waits for. */
  readonly calls?: readonly {
    readonly callId: string;
    readonly tool: string;
    readonly waitsFor: "decision" | "result";
  }[];
  /** Of an execution that has ended: the type of its outcome or ending. */
  readonly outcome?: string;
}

interface Report {
  readonly type: WebhookEvent;
  readonly about: Pick<WebhookBody, "calls" | "outcome">;
  /** What tells this event from others of its execution. */
  readonly mark: string;
}

/** Tells other servers that executions wait or have ended: signed, again until one answers, each with one id. Throws `option_invalid`, without a secret in the message. */
export function webhooksOf({ webhooks, journal, ids, onError }: WebhookParts) {
  const closing = new AbortController();
  const eventIds = new Set<string>();
  const lines = readWebhooks(webhooks).map((webhook) => lineOf(webhook, closing.signal, onError));
  const tell = async ({ execution, at }: AgentEvent, { type, about, mark }: Report) => {
    const header = await ifKnown(() => readHeader(journal, execution, HOST));
    if (!header || header.parent !== undefined || closing.signal.aborted) return;
    const id = `evt_${hash("sha256", JSON.stringify([execution, type, mark])).slice(0, 32)}`;
    if (eventIds.has(id)) return;
    if (eventIds.size >= MOST_KNOWN) eventIds.clear();
    eventIds.add(id);
    const { tenant, kind } = header;
    const body: WebhookBody = { id, type, at, execution: ids.shown(tenant, execution), kind, tenant, ...about };
    for (const line of lines) line.add(body);
  };
  return {
    /** Takes an event of an execution that the server drives. Programs of conversations are told with their conversation. */
    take(event: AgentEvent): void {
      const notice = lines.length === 0 ? undefined : toldOf(event);
      if (notice) void tell(event, notice).catch(onError);
    },
    /** Sends nothing more. The operator is told how many events were not delivered. */
    [Symbol.dispose](): void {
      const rest = lines.reduce((sum, { pending }) => sum + pending, 0);
      closing.abort();
      if (rest > 0) onError(undelivered(`${rest} events were not delivered to webhooks before the server was closed.`));
    },
  };
}

/** The events of one webhook until they are delivered. Tenants send in turn, and an event that rests before its next attempt takes no place. */
function lineOf(webhook: Webhook, closing: AbortSignal, onError: WebhookParts["onError"]) {
  const places = new Places({ atOnce: AT_ONCE });
  const bytes = new Counts();
  /** Undefined if it was delivered, or the server closes. */
  const attempt = async ({ tenant, id }: WebhookBody, text: string) => {
    // No listener for each of thousands that wait: a signal looks through all that it has. Once the server closes, none begins.
    const release = await places.take(tenant);
    if (!release || closing.aborted) return undefined;
    try {
      const status = await post(webhook, text, signedHeaders(id, text, webhook.secrets), closing);
      // By 410 the receiver says that it wants no more of them.
      return status >= 200 && status < 300 ? undefined : { text: `it answered ${status}`, isFinal: status === 410 };
    } catch (error) {
      return { text: thrownMessage(error), isFinal: error instanceof NotAllowed };
    } finally {
      release();
    }
  };
  const fail = ({ type, execution, id }: WebhookBody, why: string) => {
    const event = `${type} of ${JSON.stringify(execution)} (${id})`;
    onError(undelivered(`The webhook ${webhook.url.host} did not receive ${event}: ${why}.`));
  };
  const deliver = async (event: WebhookBody, text: string) => {
    for (const wait of [...WAITS_MS, undefined]) {
      const why = await attempt(event, text);
      if (!why || closing.aborted) return;
      if (why.isFinal || wait === undefined) return fail(event, why.text);
      await pause(wait * (1 + Math.random() / 5), { signal: closing, ref: false });
    }
  };
  return {
    pending: 0,
    add(event: WebhookBody): void {
      if (!webhook.events.has(event.type)) return;
      const text = JSON.stringify(event);
      const giveBack = bytes.take(event.tenant, memoryOf(text) + EVENT_BYTES, MOST_BYTES - bytes.all);
      if (!giveBack) return fail(event, "too many events of its tenant wait already");
      this.pending += 1;
      void deliver(event, text).finally(() => {
        this.pending -= 1;
        giveBack();
      });
    },
  };
}

function undelivered(message: string): PortcullisError {
  return new PortcullisError("webhook_failed", message);
}

function toldOf(event: AgentEvent): Report | undefined {
  switch (event.type) {
    case "execution_waiting":
    case "conversation_waiting":
      return waitingOf(event.waiting);
    case "execution_ended":
      return event.outcome.type === "waiting" ? waitingOf(event.outcome) : endedOf(event.outcome.type);
    case "conversation_ended":
      return event.ending.type === "waiting" ? undefined : endedOf(event.ending.type);
    default:
      return undefined;
  }
}

function endedOf(outcome: string): Report {
  return { type: "execution_ended", about: { outcome }, mark: "" };
}

function waitingOf({ approvals, calls }: Pick<Waiting, "approvals" | "calls">): Report {
  const all = [...approvals, ...calls];
  const summaries = all.map(({ callId, tool }, index) => {
    const waitsFor = index < approvals.length ? ("decision" as const) : ("result" as const);
    return { callId, tool, waitsFor };
  });
  const mark = JSON.stringify(all.map(({ callId, since }) => [callId, since]));
  return { type: "execution_waiting", about: { calls: summaries }, mark };
}

const TIMEOUT_MS = 10_000;

/** What stops a webhook for good: to send it again would change nothing. */
class NotAllowed extends Error {}

/**
 * Posts a body, and resolves with the status of the answer. The address that is connected to is the one that was checked.
 * Redirects are not followed, and of the answer nothing but its status is read.
 */
export async function post(
  { url, allowPrivate }: Pick<Webhook, "url" | "allowPrivate">,
  body: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<number> {
  const host = hostOf(url);
  if (!allowPrivate && isOtherAddress(host)) throw notPublic(host);
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  const sent = request(url, {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "user-agent": "portcullis",
    },
    signal: AbortSignal.any([signal, deadline(TIMEOUT_MS)]),
    agent: false,
    lookup: allowPrivate ? undefined : publicLookup(notPublic),
  });
  sent.end(body);
  const answer = await answerTo(sent);
  answer.destroy();
  return answer.statusCode ?? 0;
}

function notPublic(host: string): NotAllowed {
  return new NotAllowed(`${host} is not on the public internet: allowPrivate lets a webhook call it`);
}
