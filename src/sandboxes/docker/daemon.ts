import { hostname, release } from "node:os";
import type Docker from "dockerode";
import { after, ignore, loadPackage, PortcullisError, textOf } from "../../base/index.ts";

/** How long the daemon may take for an ordinary request, in milliseconds; as in the client for Python. A busy disk makes it slow. */
const CALL_MS = 60_000;

const SUCCESS = { 200: true, 201: true };

/** A request in the form of the client's transport. */
export interface DialRequest {
  readonly path: string;
  readonly method: "GET" | "POST";
  readonly options?: Readonly<Record<string, unknown>>;
  readonly file?: Buffer;
  readonly hijack?: boolean;
  readonly isStream?: boolean;
}

/** What is read of an error that a request ends with. */
export interface DaemonFailure {
  readonly code?: string;
  readonly message?: string;
  /** Path of a local file; errors of connections have none. */
  readonly path?: unknown;
  /** Status of the daemon's answer, and its body. */
  readonly statusCode?: number;
  readonly json?: unknown;
}

export class DaemonTimeout extends Error {}

/** The Docker daemon that `DOCKER_HOST` names, by default this machine's. Every request has a deadline. */
export class Daemon {
  readonly address = namedAddress() ?? "unix:///var/run/docker.sock";
  readonly #callMs: number;
  #docker: Promise<Docker> | undefined;
  #shares: Promise<boolean> | undefined;

  constructor(callMs = CALL_MS) {
    this.#callMs = callMs;
  }

  /** Sends a request, and closes the connection if no answer comes in time. Rejects with the daemon's error, or a `DaemonTimeout`. */
  async ask<Answer>(
    question: (docker: Docker, signal: AbortSignal) => Promise<Answer>,
    withinMs = this.#callMs,
  ): Promise<Answer> {
    this.#docker ??= loadClient();
    const docker = await this.#docker;
    const connection = new AbortController();
    const { promise: timeout, reject } = Promise.withResolvers<never>();
    using _ = after(withinMs, () => {
      reject(new DaemonTimeout(`it has not answered within ${withinMs} ms`));
      connection.abort();
    });
    const answer = question(docker, connection.signal);
    // An error after the deadline is ignored.
    answer.catch(ignore);
    return await Promise.race([answer, timeout]);
  }

  /** Sends a raw request, for which the client has no method or none that can be aborted. */
  dial(request: DialRequest): Promise<unknown> {
    return this.ask(
      (docker, abortSignal) =>
        new Promise((resolve, reject) => {
          docker.modem.dial({ ...request, statusCodes: SUCCESS, abortSignal }, (error: unknown, answer: unknown) => {
            if (error) reject(error);
            else resolve(answer);
          });
        }),
    );
  }

  /** What the daemon says about itself. */
  info(): Promise<unknown> {
    return this.dial({ path: "/info", method: "GET" });
  }

  /**
   * Whether folders of this machine can be mounted into containers: the daemon has a Unix socket here, and this machine's
   * name and kernel, unlike a daemon in a virtual machine.
   */
  sharesMachine(): Promise<boolean> {
    this.#shares ??= this.#isHere().catch(() => false);
    return this.#shares;
  }

  /** Records that a mount has failed, so that `sharesMachine` resolves with false. */
  disableMounts(): void {
    this.#shares = Promise.resolve(false);
  }

  /** The error for a daemon of this machine that cannot mount a folder which egress needs. The bridge does without. */
  noMount(folder: string, cause: Error): PortcullisError {
    const sentence = `The Docker daemon at ${this.address} cannot mount the folder ${folder}, and egress needs a socket in it: use another daemon, or egress "none".`;
    return new PortcullisError("sandbox_unavailable", sentence, { cause });
  }

  async #isHere(): Promise<boolean> {
    if (process.platform !== "linux" || !this.address.startsWith("unix://")) return false;
    const info = await this.info();
    return textOf(info, "Name") === hostname() && textOf(info, "KernelVersion") === release();
  }

  /** The error for a failed request: why there can be no container, and what to do about it. */
  unavailable(cause: unknown): PortcullisError {
    if (PortcullisError.is(cause)) return cause;
    return new PortcullisError("sandbox_unavailable", this.#sentence(cause), { cause });
  }

  #sentence(cause: unknown): string {
    const { code, statusCode, json, path, message = String(cause) } = cause as DaemonFailure;
    const detail = shortened(message);
    if (code !== undefined && typeof path === "string")
      return `A container cannot be started, because of a file on this machine: ${detail}. Give this user access to it.`;
    if (code === "EACCES" || code === "EPERM")
      return `This user may not use the Docker daemon at ${this.address}: sudo usermod -aG docker "$USER", then log in again.`;
    if (code !== undefined && NOT_LISTENING.has(code))
      return `No Docker daemon answers at ${this.address}: start it (sudo systemctl start docker), or set DOCKER_HOST to one that runs.`;
    if (code?.startsWith("HPE_") || (statusCode !== undefined && !isDaemonRefusal(json)))
      return `The server at ${this.address} does not answer like a Docker daemon: set DOCKER_HOST to one${detail === "" ? "" : ` (${detail})`}.`;
    if (cause instanceof DaemonTimeout)
      return `The Docker daemon at ${this.address} hangs, ${message}: restart it (sudo systemctl restart docker).`;
    if (/no space left|disk quota/i.test(message))
      return `The disk of the Docker daemon at ${this.address} is full: docker system prune (${detail}).`;
    if (UNKNOWN_RUNTIME.test(message.slice(0, MESSAGE_LENGTH)))
      return `The Docker daemon at ${this.address} does not have this container runtime: install it there, or use runtime "runc" (${detail}).`;
    return `The Docker daemon at ${this.address} cannot run a container${statusCode === undefined ? "" : `, it answers ${statusCode}`}: ${detail}.`;
  }
}

/** How much of a daemon's message is read, in characters. */
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

function shortened(message: string): string {
  return message
    .slice(0, MESSAGE_LENGTH)
    .replace(/^\(HTTP code \d+\) [^-]* - /, "")
    .replace(/\s+/g, " ")
    .trim()
    .replace(/\.$/, "")
    .slice(0, 300);
}

export function isDaemonRefusal(json: unknown): boolean {
  return textOf(json, "message") !== undefined;
}

/** The value of `DOCKER_HOST`. An empty value counts as unset, as in Docker's own clients. */
function namedAddress(): string | undefined {
  const { DOCKER_HOST: named } = process.env;
  return named === "" ? undefined : named;
}

async function loadClient(): Promise<Docker> {
  const sentence = "The docker sandbox needs the package dockerode: npm install dockerode.";
  const { default: Client } = await loadPackage("sandbox_unavailable", sentence, () => import("dockerode"));
  try {
    const docker = new Client();
    const { host, socketPath } = docker.modem as { readonly host?: string; readonly socketPath?: unknown };
    // Without host and socket, the request would go to port 80 of this machine.
    if (!host && socketPath === undefined) throw new Error("DOCKER_HOST names no host");
    return docker;
  } catch (cause) {
    throw new PortcullisError("sandbox_unavailable", clientSentence(cause), { cause });
  }
}

/** Why the client could not be created. It reads only environment variables and the files that they name. */
function clientSentence(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code !== undefined && code !== "ERR_INVALID_URL")
    return `The certificates in DOCKER_CERT_PATH, ${process.env.DOCKER_CERT_PATH}, cannot be read: ${message}.`;
  return `DOCKER_HOST is ${JSON.stringify(namedAddress())}, which is not the address of a Docker daemon: set it to one, like unix:///var/run/docker.sock or tcp://127.0.0.1:2375.`;
}
