import { hostname, release } from "node:os";
import type Docker from "dockerode";
import { PortcullisError } from "../../errors.ts";

/** How long a daemon may take for an answer that needs no work to speak of, in milliseconds. */
const CALL_MS = 10_000;

/** A request as the client's own transport takes it. */
export interface DialRequest {
  readonly path: string;
  readonly method: "GET" | "POST";
  readonly options?: Readonly<Record<string, unknown>>;
  readonly statusCodes: Readonly<Record<number, true | string>>;
  readonly file?: Buffer;
  readonly hijack?: boolean;
  readonly isStream?: boolean;
}

/** What a daemon says of itself, as far as it matters here; empty where it does not say. */
export interface DaemonInfo {
  readonly Name: string;
  readonly KernelVersion: string;
  readonly Architecture: string;
  readonly ServerVersion: string;
  readonly DockerRootDir: string;
  readonly Runtimes: Readonly<Record<string, unknown>>;
}

const NOTHING_SAID = { Name: "", KernelVersion: "", Architecture: "", ServerVersion: "", DockerRootDir: "" };

/** A daemon that has not answered in time. */
export class DaemonSilence extends Error {}

/** The Docker daemon that `DOCKER_HOST` names, this machine's by default. No call waits for it for longer than its deadline. */
export class Daemon {
  readonly address = namedAddress() ?? "unix:///var/run/docker.sock";
  readonly #callMs: number;
  #docker: Promise<Docker> | undefined;
  #shares: Promise<boolean> | undefined;

  constructor(callMs = CALL_MS) {
    this.#callMs = callMs;
  }

  /** Asks for something, and cuts the connection where no answer comes in time. Rejects with what the daemon said, or a `DaemonSilence`. */
  async ask<Answer>(
    question: (docker: Docker, signal: AbortSignal) => Promise<Answer>,
    withinMs = this.#callMs,
  ): Promise<Answer> {
    this.#docker ??= loadClient();
    const docker = await this.#docker;
    const connection = new AbortController();
    const { promise: silence, reject } = Promise.withResolvers<never>();
    const deadline = setTimeout(() => {
      reject(new DaemonSilence(`it has not answered within ${withinMs} ms`));
      connection.abort();
    }, withinMs);
    const answer = question(docker, connection.signal);
    // What comes after its deadline is of no interest.
    answer.catch(() => {});
    try {
      return await Promise.race([answer, silence]);
    } finally {
      clearTimeout(deadline);
    }
  }

  /** Asks in the daemon's own words, for what the client does not offer, or not so that it can be cut. */
  dial(request: DialRequest): Promise<unknown> {
    return this.ask(
      (docker, abortSignal) =>
        new Promise((resolve, reject) => {
          docker.modem.dial({ ...request, abortSignal }, (error: unknown, answer: unknown) => {
            if (error) reject(error);
            else resolve(answer);
          });
        }),
    );
  }

  async info(): Promise<DaemonInfo> {
    const said = await this.dial({
      path: "/info",
      method: "GET",
      statusCodes: { 200: true, 500: "server error" },
    });
    if (!isObject(said) || typeof said.Name !== "string") throw this.strange("what it is");
    const texts = Object.entries(NOTHING_SAID).map(([name, text]) => [
      name,
      typeof said[name] === "string" ? said[name] : text,
    ]);
    return { ...NOTHING_SAID, ...Object.fromEntries(texts), Runtimes: isObject(said.Runtimes) ? said.Runtimes : {} };
  }

  /** The sentence for an answer that no daemon gives: something else listens at its address. */
  strange(asked: string): PortcullisError {
    return new PortcullisError(
      "sandbox_unavailable",
      `What answers at ${this.address} is no Docker daemon, by what it says when asked ${asked}: set DOCKER_HOST to one.`,
    );
  }

  /**
   * Whether containers can be given a folder of this machine: the daemon is reached by a socket here, and has this
   * machine's kernel and name, which one in a virtual machine has not.
   */
  sharesMachine(): Promise<boolean> {
    this.#shares ??= this.#isHere().catch(() => false);
    return this.#shares;
  }

  /** It has turned out that they cannot. */
  sharesNothing(): void {
    this.#shares = Promise.resolve(false);
  }

  async #isHere(): Promise<boolean> {
    if (process.platform !== "linux" || !this.address.startsWith("unix://")) return false;
    const info = await this.info();
    return info.Name === hostname() && info.KernelVersion === release();
  }

  /** Why there can be no container, and what to do about it. */
  unavailable(cause: unknown): PortcullisError {
    if (PortcullisError.is(cause)) return cause;
    return new PortcullisError("sandbox_unavailable", this.#sentence(cause), { cause });
  }

  #sentence(cause: unknown): string {
    const {
      code,
      statusCode,
      json,
      path,
      message = String(cause),
    } = cause as {
      readonly code?: string;
      readonly statusCode?: number;
      /** What came with the status code. */
      readonly json?: unknown;
      /** Of a file of this machine's; the errors of connections have none. */
      readonly path?: unknown;
      readonly message?: string;
    };
    const said = saidBy(message);
    if (code !== undefined && typeof path === "string")
      return `A container cannot be started, because of a file on this machine: ${said}. See to it that this user may use it.`;
    if (code === "EACCES" || code === "EPERM")
      return `This user may not use the Docker daemon at ${this.address}: sudo usermod -aG docker "$USER", then log in again.`;
    if (code !== undefined && NOT_LISTENING.has(code))
      return `No Docker daemon answers at ${this.address}: start it (sudo systemctl start docker), or set DOCKER_HOST to one that runs.`;
    if (code?.startsWith("HPE_") || (statusCode !== undefined && !isRefusal(json)))
      return `What answers at ${this.address} does not answer as a Docker daemon does: set DOCKER_HOST to one${said === "" ? "" : ` (${said})`}.`;
    if (cause instanceof DaemonSilence)
      return `The Docker daemon at ${this.address} hangs, ${message}: restart it (sudo systemctl restart docker).`;
    if (/no space left|disk quota/i.test(message))
      return `The disk of the Docker daemon at ${this.address} is full: docker system prune (${said}).`;
    if (UNKNOWN_RUNTIME.test(message.slice(0, MESSAGE_LENGTH)))
      return `The Docker daemon at ${this.address} does not have this container runtime: install it there, or use runtime "runc" (${said}).`;
    return `The Docker daemon at ${this.address} cannot run a container${statusCode === undefined ? "" : `, it answers ${statusCode}`}: ${said}.`;
  }
}

/** What is read of what a daemon says, in characters. */
const MESSAGE_LENGTH = 1000;
const UNKNOWN_RUNTIME = /unknown.*runtime|runtime.*not found/i;

const NOT_LISTENING = new Set([
  "ENOENT",
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EHOSTUNREACH",
  "ETIMEDOUT",
  "EPIPE",
]);

/** What the daemon said, in one line, without the client's words round it. */
function saidBy(message: string): string {
  return message
    .slice(0, MESSAGE_LENGTH)
    .replace(/^\(HTTP code \d+\) [^-]* - /, "")
    .replace(/\s+/g, " ")
    .trim()
    .replace(/\.$/, "")
    .slice(0, 300);
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value);
}

/** Whether a daemon says no like this. */
export function isRefusal(json: unknown): boolean {
  return isObject(json) && typeof json.message === "string";
}

/** What `DOCKER_HOST` names. An empty one names nothing, for the daemon's own clients too. */
function namedAddress(): string | undefined {
  const { DOCKER_HOST: named } = process.env;
  return named === "" ? undefined : named;
}

async function loadClient(): Promise<Docker> {
  const Client = await importClient();
  try {
    const docker = new Client();
    const { host, socketPath } = docker.modem as { readonly host?: string; readonly socketPath?: unknown };
    // With neither, the request would go to port 80 of this machine.
    if (!host && socketPath === undefined) throw new Error("it names no host");
    return docker;
  } catch (cause) {
    throw new PortcullisError("sandbox_unavailable", clientSentence(cause), { cause });
  }
}

async function importClient(): Promise<typeof Docker> {
  try {
    const { default: Client } = await import("dockerode");
    return Client;
  } catch (cause) {
    throw new PortcullisError(
      "sandbox_unavailable",
      "The docker sandbox needs the package dockerode: npm install dockerode.",
      { cause },
    );
  }
}

/** Why there can be no client: all that it reads by then is what the environment says. */
function clientSentence(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code !== undefined && code !== "ERR_INVALID_URL")
    return `The certificates in DOCKER_CERT_PATH, ${process.env.DOCKER_CERT_PATH}, cannot be read: ${message}.`;
  return `DOCKER_HOST is ${JSON.stringify(namedAddress())}, and no address of a Docker daemon: set it to one, like unix:///var/run/docker.sock or tcp://127.0.0.1:2375.`;
}
