import { Worker } from "node:worker_threads";

/** Maximum time to strip one program, in milliseconds. An ordinary program of the maximum size takes 20. */
const STRIP_MS = 1000;
/** Maximum time for the thread to start, in milliseconds. */
const START_MS = 20_000;

export type Stripped =
  /** `map` is the source map of a text whose TypeScript could not be replaced by spaces. */
  | { readonly type: "code"; readonly code: string; readonly map?: string }
  /** The stripper's error for a text that it cannot strip. */
  | { readonly type: "refused"; readonly error: StripError }
  /** It took too long, or its signal was aborted before it started. */
  | { readonly type: "given_up" };

export interface StripError {
  readonly code?: string;
  readonly message?: string;
  readonly startLine?: number;
  readonly startColumn?: number;
}

/** The tenant that a text is read for, and the signal that cancels the work. */
export interface Reader {
  readonly tenant: string;
  readonly signal?: AbortSignal;
}

interface Job extends Reader {
  readonly text: string;
  readonly done: (stripped: Stripped) => void;
}

/** Strips one text at a time, round robin over tenants, on a thread that is terminated if a text takes too long. */
class TypeStripper {
  #thread: Worker | undefined;
  #job: Job | undefined;
  #deadline: NodeJS.Timeout | undefined;
  /** Waiting jobs by tenant, in the order in which tenants are served. */
  readonly #waiting = new Map<string, Set<Job>>();

  strip(text: string, { tenant, signal }: Reader): Promise<Stripped> {
    return new Promise((resolve) => {
      const giveUp = () => {
        this.#leave(job);
        job.done({ type: "given_up" });
      };
      const done = (stripped: Stripped) => {
        signal?.removeEventListener("abort", giveUp);
        resolve(stripped);
      };
      const job: Job = { text, tenant, done };
      if (signal?.aborted) return resolve({ type: "given_up" });
      signal?.addEventListener("abort", giveUp, { once: true });
      const jobs = this.#waiting.get(tenant);
      if (jobs) jobs.add(job);
      else this.#waiting.set(tenant, new Set([job]));
      this.#next();
    });
  }

  /** Removes a waiting job. A running job is not interrupted: terminating the thread costs more than finishing it. */
  #leave(job: Job): void {
    const jobs = this.#waiting.get(job.tenant);
    jobs?.delete(job);
    if (jobs?.size === 0) this.#waiting.delete(job.tenant);
  }

  #moveToEnd(tenant: string): void {
    const jobs = this.#waiting.get(tenant);
    if (jobs === undefined) return;
    this.#waiting.delete(tenant);
    this.#waiting.set(tenant, jobs);
  }

  #next(): void {
    if (this.#job) return;
    for (const [job] of this.#waiting.values()) {
      if (!job) continue;
      this.#leave(job);
      this.#job = job;
      if (this.#thread) this.#begin(this.#thread, job);
      else this.#start(job);
      return;
    }
  }

  #start(job: Job): void {
    const thread = new Worker(new URL("./strip-types.js", import.meta.url), { execArgv: [], stderr: true });
    this.#thread = thread;
    thread.on(
      "message",
      (message: "ready" | { readonly code: string; readonly map?: string } | { readonly error: StripError }) => {
        if (thread !== this.#thread) return;
        if (message === "ready") return this.#begin(thread, job);
        if ("code" in message) return this.#end({ type: "code", ...message });
        const { code } = message.error;
        // Any other error is a crash of the stripper, after which its memory cannot be trusted.
        if (code !== "UnsupportedSyntax" && code !== "InvalidSyntax") this.#drop(thread);
        this.#end({ type: "refused", error: message.error });
      },
    );
    thread.on("error", () => this.#giveUp(thread));
    thread.on("exit", () => this.#giveUp(thread));
    this.#deadline = setTimeout(() => this.#giveUp(thread), START_MS);
  }

  #begin(thread: Worker, job: Job): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.#giveUp(thread), STRIP_MS);
    thread.ref();
    // The empty list satisfies a lint rule that is meant for window.postMessage.
    thread.postMessage(job.text, []);
  }

  #end(stripped: Stripped): void {
    clearTimeout(this.#deadline);
    // An idle thread must not keep the host's process alive.
    this.#thread?.unref();
    const job = this.#job;
    this.#job = undefined;
    if (job) {
      job.done(stripped);
      this.#moveToEnd(job.tenant);
    }
    this.#next();
  }

  #giveUp(thread: Worker): void {
    if (thread !== this.#thread) return;
    this.#drop(thread);
    this.#end({ type: "given_up" });
  }

  #drop(thread: Worker): void {
    this.#thread = undefined;
    void thread.terminate();
  }
}

const stripper = new TypeStripper();

/** Removes the types in a text: replaces them by spaces, or writes the text anew where that is not possible. Runs off the host's thread, and resolves with `given_up` if it takes too long. */
export function stripTypes(text: string, reader: Reader): Promise<Stripped> {
  return stripper.strip(text, reader);
}
