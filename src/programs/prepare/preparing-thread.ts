import { Worker } from "node:worker_threads";
import { after, cancel } from "../../clock.ts";
import { PortcullisError } from "../../errors.ts";
import { afterComputing } from "./after-computing.ts";
import type { Answer, Request } from "./thread/prepare-text.ts";
import type { Read } from "./thread/parsed-program.ts";

/** Maximum processor time to prepare one program, in milliseconds. An ordinary program of the maximum size takes 40. */
const PREPARE_MS = 1000;
/** Maximum time for the thread to start, and to load what programs with types need, in milliseconds. */
const START_MS = 20_000;
/** Maximum of the thread's heap, in MiB. An ordinary program of the maximum size takes 10. */
const HEAP_MEBIBYTES = 64;

/** The tenant that a text is read for, and the signal that cancels the work. */
export interface Reader {
  readonly tenant: string;
  readonly signal?: AbortSignal;
}

/** What has become of a program; `given_up` if it took too long, or if its signal was aborted before its turn. */
type Settled = Read | "given_up";

interface Job {
  readonly tenant: string;
  readonly request: Request;
  readonly settle: (settled: Settled | PortcullisError) => void;
}

/** Prepares one program at a time, tenants in turn, on a thread that is ended if a program takes too long. */
class PreparingThread {
  #thread: Worker | undefined;
  #isReady = false;
  #job: Job | undefined;
  #stopClock = () => {};
  /** Waiting jobs by tenant, in the order in which tenants are served. */
  readonly #waiting = new Map<string, Set<Job>>();

  prepare(request: Request, { tenant, signal }: Reader): Promise<Settled> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return resolve("given_up");
      const leave = () => {
        this.#leave(job);
        job.settle("given_up");
      };
      const settle = (settled: Settled | PortcullisError) => {
        signal?.removeEventListener("abort", leave);
        if (settled instanceof PortcullisError) reject(settled);
        else resolve(settled);
      };
      const job: Job = { request, tenant, settle };
      signal?.addEventListener("abort", leave, { once: true });
      const jobs = this.#waiting.get(tenant);
      if (jobs) jobs.add(job);
      else this.#waiting.set(tenant, new Set([job]));
      this.#next();
    });
  }

  /** Starts the thread, so that the first program finds it started. */
  start(): void {
    if (this.#thread) return;
    const thread = new Worker(new URL("./thread/thread.js", import.meta.url), {
      execArgv: [],
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MEBIBYTES },
    });
    this.#thread = thread;
    this.#isReady = false;
    thread.on("message", (message: "loading" | "ready" | Answer) => {
      if (thread === this.#thread) this.#take(thread, message);
    });
    thread.on("error", (error) => this.#lose(thread, error));
    thread.on("exit", () => this.#lose(thread));
    // An idle thread must not keep the host's process alive.
    thread.unref();
    this.#endUnlessReady(thread);
  }

  #take(thread: Worker, message: "loading" | "ready" | Answer): void {
    if (message === "loading") return this.#endUnlessReady(thread);
    if (message === "ready") {
      this.#stopClock();
      if (this.#isReady) return this.#endIfLong(thread);
      this.#isReady = true;
      return this.#begin();
    }
    if (message.isSpent) this.#drop(thread);
    this.#end(message.read);
  }

  /** Removes a waiting job. A job that is being done is not interrupted: terminating the thread costs more than finishing it. */
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
      this.start();
      this.#thread?.ref();
      if (this.#isReady) this.#begin();
      return;
    }
  }

  #begin(): void {
    const thread = this.#thread;
    if (!thread || !this.#job) return;
    this.#endIfLong(thread);
    // The empty list satisfies a lint rule that is meant for window.postMessage.
    thread.postMessage(this.#job.request, []);
  }

  #end(settled: Settled | PortcullisError): void {
    this.#stopClock();
    this.#thread?.unref();
    const job = this.#job;
    this.#job = undefined;
    if (job) {
      job.settle(settled);
      this.#moveToEnd(job.tenant);
    }
    this.#next();
  }

  #endUnlessReady(thread: Worker): void {
    this.#stopClock();
    const timer = after(START_MS, () => this.#lose(thread));
    // A thread that starts ahead of the first program does not keep the process alive.
    if (!this.#job) timer.unref();
    this.#stopClock = () => cancel(timer);
  }

  #endIfLong(thread: Worker): void {
    this.#stopClock();
    this.#stopClock = afterComputing(thread, PREPARE_MS, () => this.#lose(thread));
  }

  #lose(thread: Worker, error?: unknown): void {
    if (thread !== this.#thread) return;
    const hadStarted = this.#isReady;
    this.#drop(thread);
    this.#end(hadStarted ? "given_up" : neverStarted(error));
  }

  #drop(thread: Worker): void {
    this.#thread = undefined;
    this.#isReady = false;
    void thread.terminate();
  }
}

function neverStarted(cause: unknown): PortcullisError {
  return new PortcullisError(
    "sandbox_unavailable",
    `The thread that reads programs does not start${cause instanceof Error ? `: ${cause.message}` : ""}. If a bundler has packed the package's code, name portcullis as external in the bundler's configuration, and install it where the bundle runs (docs/operating.md, "Bundlers").`,
    { cause },
  );
}

export const preparingThread = new PreparingThread();
