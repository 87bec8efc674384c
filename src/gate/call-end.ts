/** Result of a task whose call ended first. */
export const OVER = Symbol("over");

/** Whether a call has ended. After its end, its tasks are not awaited. */
export class CallEnd {
  #abort: AbortController | undefined;
  #reason: string | Error | undefined;
  /** Why its handler was ended, if that took too long. */
  #late: string | undefined;
  #onEnd: (() => void) | undefined;
  #onLate: (() => void) | undefined;

  get isSet(): boolean {
    return this.#reason !== undefined;
  }

  /** Created on first use, because most handlers never read it. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    const reason = this.#late ?? this.#reason;
    if (reason !== undefined) this.#abort.abort(errorOf(reason));
    return this.#abort.signal;
  }

  get hasSignal(): boolean {
    return this.#abort !== undefined;
  }

  /** The first reason holds. */
  set(reason: string | Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#abort?.abort(errorOf(reason));
    this.#onEnd?.();
  }

  /** Aborts a handler that took too long. The call stays open until its failure is the answer. */
  setLate(reason: string): void {
    if (this.#reason !== undefined || this.#late !== undefined) return;
    this.#late = reason;
    this.#abort?.abort(new Error(reason));
    this.#onLate?.();
  }

  /** The handler's result, or OVER as soon as the handler or the call is ended. */
  orLate<Value>(handler: () => Value | Promise<Value>): Promise<Value | typeof OVER> {
    return new Promise((resolve, reject) => {
      this.#onLate = () => resolve(OVER);
      this.#race(handler, resolve, reject);
    });
  }

  /** The task's result, or OVER as soon as the call has ended. Then the task is not awaited, and its error is ignored. */
  or<Value>(task: () => Value | Promise<Value>): Promise<Value | typeof OVER> {
    return new Promise((resolve, reject) => this.#race(task, resolve, reject));
  }

  /** One promise for both outcomes, because this runs twice for every call. What the task throws rejects it. */
  #race<Value>(
    task: () => Value | Promise<Value>,
    resolve: (value: Value | typeof OVER) => void,
    reject: (error: unknown) => void,
  ): void {
    if (this.#reason !== undefined) return resolve(OVER);
    const outer = this.#onEnd;
    this.#onEnd = () => {
      outer?.();
      resolve(OVER);
    };
    const running = task();
    if (running instanceof Promise) running.then(resolve, reject);
    else resolve(running);
  }
}

/** Thousands of calls may end at once, and few of them are asked why. */
function errorOf(reason: string | Error): Error {
  return typeof reason === "string" ? new Error(reason) : reason;
}
