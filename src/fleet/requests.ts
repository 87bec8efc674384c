import type { ExecutionId } from "../journal/execution-id.ts";

/** What a process asks the driver of an execution for, which may be in another process. */
export type DriverRequest = (typeof REQUESTS)[number];

const REQUESTS = ["cancel", "interrupt", "revoke"] as const;

export type RequestListener = (execution: ExecutionId, request: DriverRequest) => void;

/** Carries requests between the processes of a fleet: the journal in PostgreSQL. */
export interface RequestStore {
  readonly request: (execution: ExecutionId, request: string) => Promise<void>;
  readonly onRequest: (listener: (execution: ExecutionId, request: string) => void) => Disposable;
}

/**
 * Requests to the drivers of a fleet. Each process hears those of the executions that it may read. A request may be lost:
 * its sender looks in the journal whether it was met.
 */
export class DriverRequests {
  readonly #store: RequestStore | undefined;
  readonly #listeners = new Set<RequestListener>();
  #listening: Disposable | undefined;

  /** Without a store, the processes of the fleet are one. */
  constructor(store: RequestStore | undefined) {
    this.#store = store;
  }

  async send(execution: ExecutionId, request: DriverRequest): Promise<void> {
    if (this.#store) await this.#store.request(execution, request);
    else this.#hear(execution, request);
  }

  listen(listener: RequestListener): Disposable {
    this.#listeners.add(listener);
    this.#listening ??= this.#store?.onRequest((execution, request) => this.#hear(execution, request));
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(listener);
        if (this.#listeners.size > 0) return;
        this.#listening?.[Symbol.dispose]();
        this.#listening = undefined;
      },
    };
  }

  /** A process of another version may ask for more. */
  #hear(execution: ExecutionId, request: string): void {
    const known = REQUESTS.find((one) => one === request);
    if (known) for (const listener of this.#listeners) listener(execution, known);
  }
}
