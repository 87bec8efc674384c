import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PortcullisError } from "../errors.ts";
import type { Tool } from "../tools/tool.ts";
import { validate } from "../tools/schema.ts";
import { ByteList } from "../values/byte-list.ts";
import { readPlainData } from "../values/json/plain-data.ts";
import { type OpenedKey, openKey } from "./execution-key.ts";
import type { OwnerGate, SentCall } from "./owner-gate.ts";
import { HEADERS, OWNER_PROBLEMS, type OwnerProblem, PATHS, withoutSlash } from "./wire.ts";

/** Time for the headers of a request, and for all of it, in milliseconds. */
const [HEADERS_MS, REQUEST_MS] = [10_000, 60_000];
const HEADER_BYTES = 16 * 1024;
const MOST_CONNECTIONS = 2000;
/** Longest name of a tool or id of a call. */
const NAME_LENGTH = 2000;
/** Time that a caller may ask for, in milliseconds. */
const MOST_MS = 2 ** 31 - 1;
/** Time for a client to read why the rest of its body is not read, in milliseconds. */
const LAST_WORD_MS = 2000;
/** Time for answers that are under way when the owner closes, in milliseconds. */
const FLUSH_MS = 1000;

/** What ends a request before it has an answer. `message` is for the worker's operator. */
class OwnerRefusal extends Error {
  readonly code: OwnerProblem;

  constructor(code: OwnerProblem, message: string) {
    super(message);
    this.code = code;
  }
}

export interface OwnerServing {
  readonly gate: OwnerGate;
  readonly key: string;
  readonly host: string;
  readonly port: number;
  readonly url?: string | undefined;
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface OwnerListener {
  readonly url: string;
  /** Takes no further calls. */
  readonly stop: () => void;
  readonly close: () => Promise<void>;
}

export async function serveOwner({ gate, key, host, port, url, onError }: OwnerServing): Promise<OwnerListener> {
  const own = new OwnerRequests(gate, key);
  const server = createServer(
    { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS, maxHeaderSize: HEADER_BYTES },
    (request, response) => {
      own.answer(request, response).catch((error: unknown) => {
        onError?.(error);
        response.destroy();
      });
    },
  );
  server.maxConnections = MOST_CONNECTIONS;
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new PortcullisError(
      "door_unavailable",
      `The owner cannot listen on ${host}, port ${port}: ${(cause as Error).message}. Give another port, or 0 for any that is free.`,
      { cause },
    );
  }
  const { port: taken } = server.address() as AddressInfo;
  const named = host.includes(":") ? `[${host}]` : host;
  return {
    url: withoutSlash(url ?? `http://${named}:${taken}`),
    stop: () => own.stop(),
    close: async () => {
      const late = setTimeout(() => server.closeAllConnections(), FLUSH_MS);
      server.close();
      server.closeIdleConnections();
      await once(server, "close");
      clearTimeout(late);
    },
  };
}

class OwnerRequests {
  readonly #gate: OwnerGate;
  readonly #secret: string;
  #isClosing = false;

  constructor(gate: OwnerGate, secret: string) {
    this.#gate = gate;
    this.#secret = secret;
  }

  stop(): void {
    this.#isClosing = true;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => {});
    const { instance } = this.#gate.calls;
    let status = 200;
    let body: string;
    try {
      body = await this.#bodyFor(request);
    } catch (error) {
      if (!(error instanceof OwnerRefusal)) throw error;
      status = OWNER_PROBLEMS[error.code];
      body = JSON.stringify({ error: { code: error.code, message: error.message } });
    }
    if (response.destroyed) return;
    const bytes = Buffer.from(body);
    const call = request.headers[HEADERS.call];
    response.writeHead(status, {
      "content-type": "application/json",
      "content-length": bytes.byteLength,
      [HEADERS.owner]: instance,
      ...(typeof call === "string" ? { [HEADERS.call]: call } : {}),
      // The rest of a body that was refused is not read.
      ...(request.complete ? {} : { connection: "close" }),
    });
    response.end(bytes);
    if (request.complete) return;
    // Its client gets the answer first.
    const late = setTimeout(() => request.destroy(), LAST_WORD_MS).unref();
    response.once("close", () => clearTimeout(late));
  }

  async #bodyFor(request: IncomingMessage): Promise<string> {
    const key = this.#keyOf(request);
    if (this.#isClosing) throw new OwnerRefusal("owner_closing", "The owner closes.");
    const { method, url } = request;
    if (method === "GET" && url === PATHS.ready && key.execution !== undefined) return "{}";
    if (method === "GET" && url === PATHS.tools && key.execution === undefined)
      return JSON.stringify(this.#gate.declared(key.tenant));
    if (method !== "POST" || key.execution === undefined)
      throw new OwnerRefusal("path_unknown", "An owner has no such path for this key.");
    switch (url) {
      case PATHS.call:
        return this.#call(request, { ...key, execution: key.execution });
      case PATHS.approval:
        return this.#needsApproval(request, { ...key, execution: key.execution });
      case PATHS.cancel:
        this.#gate.calls.cancel(
          { execution: key.execution, callId: nameIn(request, HEADERS.call) },
          new Error("The call was cancelled."),
        );
        return "{}";
      default:
        throw new OwnerRefusal("path_unknown", "An owner has no such path for this key.");
    }
  }

  /** Read before anything else of the request. */
  #keyOf({ headers: { authorization = "" } }: IncomingMessage): OpenedKey {
    const key = authorization.startsWith("Bearer ") ? openKey(this.#secret, authorization.slice(7)) : undefined;
    if (!key)
      throw new OwnerRefusal(
        "owner_key_invalid",
        "This is no key of this owner. The process that submits and the owner need the same secret (PORTCULLIS_OWNER_KEY).",
      );
    if (key.untilMs > Date.now()) return key;
    throw new OwnerRefusal("owner_key_expired", "The key of the execution has expired: submit the program again.");
  }

  async #call(request: IncomingMessage, key: ExecutionKey): Promise<string> {
    const { name } = this.#toolIn(request, key);
    // The worker would take a write for a read, or pass on what this tool does not mean.
    if (!this.#gate.isDefinedAs(name, request.headers[HEADERS.definition]))
      throw new OwnerRefusal("tool_changed", `${name} is defined otherwise than the program was submitted with it.`);
    const call: SentCall = {
      execution: key.execution,
      tenant: key.tenant,
      callId: nameIn(request, HEADERS.call),
      tool: name,
      timeoutMs: timeoutIn(request),
      inputText: await this.#inputOf(request),
      ...sentTo(request),
    };
    const taken = this.#gate.take(call);
    switch (taken.type) {
      case "answer": {
        const answer = await taken.answer;
        if (answer !== undefined) return answer;
        throw new OwnerRefusal("call_cancelled", `Call ${call.callId} was cancelled, and may have taken effect.`);
      }
      case "conflict":
        throw new OwnerRefusal("call_conflict", `Call ${call.callId} was sent before with another tool or input.`);
      case "unknown":
        throw new OwnerRefusal("outcome_unknown", `It is not known whether call ${call.callId} was made.`);
      case "full":
        throw new OwnerRefusal("owner_busy", "The owner makes as many calls as it may. Send it again.");
    }
  }

  async #needsApproval(request: IncomingMessage, key: ExecutionKey): Promise<string> {
    const tool = this.#toolIn(request, key);
    const read = readPlainData(await this.#inputOf(request), this.#gate.limits.inputValues);
    const checked = read.ok ? await validate(tool.input, read.value) : undefined;
    // The gate refuses such an input when the call is made.
    const needs = !checked?.ok || (await this.#gate.approvalOf(tool.name, checked.value));
    return JSON.stringify({ needsApproval: needs });
  }

  /** A tool that the key does not name is answered like one that does not exist. */
  #toolIn(request: IncomingMessage, { tenant, tools }: ExecutionKey): Tool {
    const name = nameIn(request, HEADERS.tool);
    const tool = tools && !tools.includes(name) ? undefined : this.#gate.tool(name, tenant);
    if (tool) return tool;
    throw new OwnerRefusal("tool_unknown", `The owner has no tool ${JSON.stringify(name)} for this execution.`);
  }

  async #inputOf(request: IncomingMessage): Promise<string> {
    const most = this.#gate.limits.inputBytes;
    const tooLarge = () => new OwnerRefusal("input_too_large", `An input may have at most ${most} bytes.`);
    if (Number(request.headers["content-length"] ?? 0) > most) throw tooLarge();
    const read = new ByteList();
    try {
      for await (const chunk of request) {
        read.add(chunk as Uint8Array);
        if (read.bytes > most) throw tooLarge();
      }
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(read.take());
    } catch (error) {
      if (error instanceof OwnerRefusal) throw error;
      throw new OwnerRefusal("request_invalid", "The input is incomplete, or no UTF-8.");
    }
  }
}

type ExecutionKey = OpenedKey & { readonly execution: string };

function nameIn(request: IncomingMessage, header: string): string {
  const given = request.headers[header];
  try {
    const name = typeof given === "string" && given.length <= 3 * NAME_LENGTH ? decodeURIComponent(given) : "";
    if (name !== "" && name.length <= NAME_LENGTH) return name;
  } catch {
    // No encoding of a text.
  }
  throw new OwnerRefusal("request_invalid", `The header ${header} is missing or invalid.`);
}

function timeoutIn(request: IncomingMessage): number {
  const given = String(request.headers[HEADERS.timeout] ?? "");
  const ms = /^\d{1,10}$/.test(given) ? Number(given) : 0;
  if (ms >= 1 && ms <= MOST_MS) return ms;
  throw new OwnerRefusal("request_invalid", `The header ${HEADERS.timeout} is missing or invalid.`);
}

function sentTo({ headers }: IncomingMessage): Pick<SentCall, "sentTo"> {
  const given = headers[HEADERS.sentTo];
  return typeof given === "string" ? { sentTo: given.slice(0, 100) } : {};
}
