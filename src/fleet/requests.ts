import type { ExecutionId } from "../journal/execution-id.ts";
import type { QueueDatabase } from "./pg-boss-queue.ts";

/** What a process asks the driver of an execution for, which may be in another process. */
export type DriverRequest = "cancel" | "interrupt";

export type RequestListener = (execution: ExecutionId, request: DriverRequest) => void;

const CHANNEL = "portcullis_requests";

/**
 * Requests to the drivers of a fleet. Each process hears all of them. A request may be lost: its sender looks in the
 * journal whether it was met.
 */
export class DriverRequests {
  readonly #database: QueueDatabase | undefined;
  readonly #listeners = new Set<RequestListener>();
  #listening: Disposable | undefined;

  /** Without a database, the processes of the fleet are one. */
  constructor(database: QueueDatabase | undefined) {
    this.#database = database;
  }

  async send(execution: ExecutionId, request: DriverRequest): Promise<void> {
    const payload = JSON.stringify([request, execution]);
    if (this.#database) await this.#database.query("SELECT pg_notify($1, $2)", [CHANNEL, payload]);
    else this.#hear(payload);
  }

  listen(listener: RequestListener): Disposable {
    this.#listeners.add(listener);
    this.#listening ??= this.#database?.onNotify(CHANNEL, (payload) => this.#hear(payload));
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(listener);
        if (this.#listeners.size > 0) return;
        this.#listening?.[Symbol.dispose]();
        this.#listening = undefined;
      },
    };
  }

  #hear(payload: string | undefined): void {
    const heard = payload === undefined ? undefined : readRequest(payload);
    if (heard) for (const listener of this.#listeners) listener(heard.execution, heard.request);
  }
}

/** Any client of the database can send a notice. */
function readRequest(
  payload: string,
): { readonly request: DriverRequest; readonly execution: ExecutionId } | undefined {
  try {
    const [request, execution] = JSON.parse(payload) as readonly unknown[];
    if (typeof execution !== "string") return undefined;
    return request === "cancel" || request === "interrupt" ? { request, execution } : undefined;
  } catch {
    return undefined;
  }
}
