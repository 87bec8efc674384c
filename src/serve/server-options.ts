import type { RecoveredConversation } from "../runtime/executions/index.ts";
import type { Approve } from "../gate/approve/approval.ts";
import { isModel, MAX_TOKENS, MAX_TURNS } from "../conversations/agent-options.ts";
import type { Model } from "../models/model.ts";
import type { DecideCommand } from "./mcp/program-results.ts";
import type { WebhookOptions } from "./webhooks/webhook-options.ts";
import { isModelName, MODEL_NAMES, type ModelName } from "../models/turn/index.ts";
import {
  array,
  callback,
  listener,
  oneOf,
  option,
  type OptionsOf,
  secret,
  text,
  wholeNumber,
  withDefault,
} from "../base/index.ts";

/** The facts of an answered request, without contents of the request or its answer. */
export interface AnsweredRequest {
  /** When it came, in milliseconds since 1970. */
  readonly at: number;
  readonly method: string;
  /** Its path as `/openapi.json` writes it, like `/v1/executions/{id}`; `(unknown)` for an unknown path. */
  readonly path: string;
  readonly status: number;
  /** Code of a refusal. */
  readonly code?: string;
  /** Time until the headers of the answer, in milliseconds. */
  readonly ms: number;
  /** Id of the key; missing if the key is unknown. */
  readonly key?: string;
  readonly tenant?: string;
  /** The execution of the request, by its client's id: up to 256 arbitrary characters. */
  readonly execution?: string;
}

const MIB = 1024 * 1024;

export const SERVER_RULES = {
  /** Its routes: `all`, `/mcp` alone (`mcp`), or `/healthz`, `/readyz` and `/metrics` alone (`operator`); `all` by default. */
  routes: withDefault(oneOf(["all", "mcp", "operator"]), "all"),
  /**
   * The keys of clients: the content of a key file, `{ "keys": [ … ] }`, as text or parsed (docs/http.md). Without keys
   * there is one token, for this machine only.
   */
  keys: secret(
    option<string | object>(
      '{ "keys": [ … ] }, as text or parsed',
      (value) => typeof value === "string" || (typeof value === "object" && value !== null),
    ),
  ),
  /** The token if there are no keys, of at least 16 characters; a new one by default. Its tenant is that of the runtime. */
  token: secret(text({ minLength: 16, maxLength: 1024, expected: "a text of 16 to 1024 characters" })),
  /**
   * The model of conversations that clients begin: a model, or its name, like `anthropic:NAME`. Of a list, clients may
   * choose, and the first is the default. Without it, clients begin none.
   */
  model: option<Model | ModelName | readonly (Model | ModelName)[]>(
    `a model, its name (${MODEL_NAMES}), or a list of such`,
    (value) => (Array.isArray(value) ? value.length > 0 && value.every(isServed) : isServed(value)),
  ),
  /** Maximum of turns after each message in a conversation of a client; 20 by default. Clients may ask for fewer. */
  maxTurns: MAX_TURNS,
  /** Maximum of tokens of a whole conversation of a client; a million by default. Clients may ask for fewer. */
  maxTokens: MAX_TOKENS,
  /** Returns the model that continues a conversation that none of `model` began. Without one, it stays open. */
  models: callback<(conversation: RecoveredConversation) => Model | undefined>(),
  /**
   * How long a program of the gateway waits for the answers of its client, in milliseconds; four and a half minutes by
   * default, as Anthropic does.
   */
  pauseMs: wholeNumber({ min: 1000, max: 31_536_000_000, default: 270_000 }),
  /** How long the gateway keeps answers that their clients have asked to be stored, in milliseconds; 30 days by default, as OpenAI does. */
  storedMs: wholeNumber({ min: 1000, max: 31_536_000_000, default: 30 * 86_400_000 }),
  /**
   * Secrets with which the gateway seals what clients carry, of at least 32 characters: the first seals, and what the others
   * have sealed still holds. By default a new one for each server.
   */
  secrets: secret(
    option<readonly string[]>(
      "a list of texts of at least 32 characters",
      (value) =>
        Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string" && one.length >= 32),
    ),
  ),
  /** Names, beside its own, under which clients may address the server, like that of a proxy; with its port if it is none of HTTP's. */
  hostNames: array<string>("a list of names of hosts"),
  /** Bytes of the body of a request; 4 MiB by default. */
  maxBodyBytes: wholeNumber({ min: 1024, max: 64 * MIB, default: 4 * MIB }),
  /** Connections at once. Each takes one of the files that the process may have open. */
  connections: wholeNumber({ min: 1, max: 65_536, default: 4096 }),
  /** Time that a client has for the headers of a request, in milliseconds. */
  headersMs: wholeNumber({ min: 10, max: 600_000, default: 15_000 }),
  /** Time that a client has for a whole request, in milliseconds. How long the answer takes does not count. */
  requestMs: wholeNumber({ min: 10, max: 3_600_000, default: 60_000 }),
  /** How long a client may leave an answer unread, and a connection unused, in milliseconds. */
  idleMs: wholeNumber({ min: 10, max: 3_600_000, default: 60_000 }),
  /** How long a request of an MCP client waits for its program, in milliseconds; 50 seconds by default. The program goes on after that. */
  patienceMs: wholeNumber({ min: 1, max: 86_400_000 }),
  /** Decides calls of MCP clients that need approval, in place of the clients' users. */
  approve: callback<Approve>(),
  /**
   * Makes the command by which a person gives an answer to a call, which MCP clients are shown: `allow` or `deny`, or `done`
   * with its result, for a call that may have been made already. By default they are shown the path
   * of this server; if it has the routes of MCP alone, no call waits then.
   */
  decideCommand: callback<DecideCommand>(),
  /**
   * Who drives the programs that clients begin, if the runtime belongs to a fleet: `here`, the default, this server and
   * all other workers of the fleet; `elsewhere`, the other workers alone. Conversations, and programs of MCP clients, are
   * driven by the server that was asked.
   */
  workers: withDefault(oneOf(["here", "elsewhere"]), "here"),
  /** Programs that this server drives at once as a worker of its fleet; 64 by default. */
  concurrency: wholeNumber({ min: 1, max: 10_000, default: 64 }),
  /**
   * Servers that are told when executions wait or have ended: `{ url, secret, events, allowPrivate }`. Requests are signed, sent
   * again until one is answered, and have the same id each time (docs/http.md).
   */
  webhooks: array<WebhookOptions>("a list of { url, secret }"),
  /** Called for each request once there is an answer, for a log. Its errors are ignored. */
  onRequest: listener<(request: AnsweredRequest) => void>(),
  /** Called for failures on the host's side, and for executions that could not be taken up. */
  onError: listener<(error: unknown) => void>(),
};

function isServed(value: unknown): boolean {
  return isModel(value) || isModelName(value);
}

export type ServerOptions = OptionsOf<typeof SERVER_RULES>;

export const LISTEN_RULES = {
  /** 0 for any free port; 7332 by default. */
  port: wholeNumber({ min: 0, max: 65_535, default: 7332 }),
  /** The address to listen on; this machine's own, 127.0.0.1, by default. Any other address needs keys. */
  host: text(),
};

export type ListenOptions = OptionsOf<typeof LISTEN_RULES>;

export const CLOSE_RULES = {
  /** Time that running executions have to end by themselves, in milliseconds; 30 seconds by default. */
  drainMs: wholeNumber({ min: 0, max: 3_600_000, default: 30_000 }),
};

export type CloseOptions = OptionsOf<typeof CLOSE_RULES>;
