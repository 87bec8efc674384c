import { Worker } from "node:worker_threads";
import { after, cancel, monotonic, nextTurn } from "../clock.ts";
import { ignore, PortcullisError } from "../errors.ts";
import { WaitingLine } from "../places/waiting-line.ts";

/** Maximum time for a thread to start, and to load what its jobs need, in milliseconds. */
const START_MS = 20_000;

export interface JobThreadOptions<Request> {
  /** The file that the thread runs, asked for when it starts: a bundle of CommonJS has no addresses of modules. */
  readonly entry: () => URL;
  /** Maximum processor time of a job, in milliseconds. */
  readonly jobMs: (request: Request) => number;
  /** Maximum of the thread's heap, in MiB. */
  readonly heapMebibytes: number;
  /** What the thread does, for the error if it does not start. */
  readonly purpose: string;
}

export interface JobAnswer<Read> {
  readonly read: Read;
  /** Whether the thread must not be used again. */
  readonly isSpent?: boolean;
}

/** The tenant that a job is done for, and the signal that cancels it. */
export interface Reader {
  readonly tenant: string;
  readonly signal?: AbortSignal;
}

/** What has become of a job; `given_up` if it took too long or too much, or if its signal was aborted before its turn. */
export type JobResult<Read> = Read | "given_up";

interface Job<Request, Read> {
  readonly tenant: string;
  readonly request: Request;
  readonly settle: (settled: JobResult<Read> | PortcullisError) => void;
}

/** Does one job at a time, tenants in turn, on a thread that is ended if a job takes too long. */
export class JobThread<Request, Read> {
  readonly #options: JobThreadOptions<Request>;
  #thread: Worker | undefined;
  #isReady = false;
  #job: Job<Request, Read> | undefined;
  #stopClock = ignore;
  readonly #waiting = new WaitingLine<Job<Request, Read>>();

  constructor(options: JobThreadOptions<Request>) {
    this.#options = options;
  }

  /** Rejects with `sandbox_unavailable` if the thread does not start. */
  do(request: Request, { tenant, signal }: Reader): Promise<JobResult<Read>> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return resolve("given_up");
      // A job that is being done is not interrupted: terminating the thread costs more than finishing it.
      const leave = () => {
        this.#waiting.remove(job);
        job.settle("given_up");
      };
      const settle = (settled: JobResult<Read> | PortcullisError) => {
        signal?.removeEventListener("abort", leave);
        if (settled instanceof PortcullisError) reject(settled);
        else resolve(settled);
      };
      const job: Job<Request, Read> = { request, tenant, settle };
      signal?.addEventListener("abort", leave, { once: true });
      this.#waiting.add(job);
      this.#next();
    });
  }

  /** Starts the thread, so that the first job finds it started. */
  start(): void {
    if (this.#thread) return;
    const { entry, heapMebibytes } = this.#options;
    const thread = new Worker(entry(), {
      execArgv: [],
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: heapMebibytes },
    });
    this.#thread = thread;
    this.#isReady = false;
    thread.on("message", (message: "loading" | "ready" | JobAnswer<Read>) => {
      if (thread === this.#thread) this.#take(thread, message);
    });
    thread.on("error", (error) => this.#lose(thread, error));
    thread.on("exit", () => this.#lose(thread));
    // An idle thread must not keep the host's process alive.
    thread.unref();
    this.#endUnlessReady(thread);
  }

  #take(thread: Worker, message: "loading" | "ready" | JobAnswer<Read>): void {
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

  #next(): void {
    const tenant = this.#job ? undefined : this.#waiting.next();
    if (tenant === undefined) return;
    this.#job = this.#waiting.take(tenant);
    this.start();
    this.#thread?.ref();
    if (this.#isReady) this.#begin();
  }

  #begin(): void {
    const thread = this.#thread;
    if (!thread || !this.#job) return;
    this.#endIfLong(thread);
    // The empty list satisfies a lint rule that is meant for window.postMessage.
    thread.postMessage(this.#job.request, []);
  }

  #end(settled: JobResult<Read> | PortcullisError): void {
    this.#stopClock();
    this.#thread?.unref();
    const job = this.#job;
    this.#job = undefined;
    if (job) {
      job.settle(settled);
      this.#waiting.comesLast(job.tenant);
    }
    this.#next();
  }

  #endUnlessReady(thread: Worker): void {
    this.#stopClock();
    const timer = after(START_MS, () => this.#lose(thread));
    // A thread that starts ahead of the first job does not keep the process alive.
    if (!this.#job) timer.unref();
    this.#stopClock = () => cancel(timer);
  }

  #endIfLong(thread: Worker): void {
    this.#stopClock();
    if (!this.#job) return;
    this.#stopClock = afterComputing(thread, this.#options.jobMs(this.#job.request), () => this.#lose(thread));
  }

  #lose(thread: Worker, error?: unknown): void {
    if (thread !== this.#thread) return;
    const hadStarted = this.#isReady;
    this.#drop(thread);
    this.#end(hadStarted ? "given_up" : neverStarted(this.#options.purpose, error));
  }

  #drop(thread: Worker): void {
    this.#thread = undefined;
    this.#isReady = false;
    void thread.terminate();
  }
}

function neverStarted(purpose: string, cause: unknown): PortcullisError {
  return new PortcullisError(
    "sandbox_unavailable",
    `The thread that ${purpose} does not start${cause instanceof Error ? `: ${cause.message}` : ""}. If a bundler has packed the package's code, name portcullis as external in the bundler's configuration, and install it where the bundle runs (docs/operating.md, "Bundlers").`,
    { cause },
  );
}

/** How many times as long a thread may take on a machine whose cores are busy. */
const SLOWEST = 10;
const LOOK_MS = 50;

/**
 * Calls `onOver` once a thread has computed for `ms` more milliseconds, not counting the time in which it waits for a
 * core, and after ten times as long in any case. The first half is measured by the clock, so that a quick program costs
 * no look. Returns a function that stops the measurement.
 */
function afterComputing(thread: Worker, ms: number, onOver: () => void): () => void {
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    cancel(look);
    cancel(last);
  };
  const over = () => {
    if (isStopped) return;
    stop();
    onOver();
  };
  let before: NodeJS.CpuUsage | undefined;
  const takeALook = async () => {
    // Messages that the thread sent while the host was busy are handled first.
    await nextTurn();
    if (isStopped) return;
    const used = await usageOf(thread, before).catch(over);
    if (isStopped || !used) return;
    if (before && (used.user + used.system) / 1000 >= ms / 2) return over();
    before ??= used;
    look = after(LOOK_MS, () => void takeALook());
  };
  let look = after(ms / 2, () => void takeALook());
  const last = after(ms * SLOWEST, () => void nextTurn().then(over));
  return stop;
}

/** Time that the thread has computed, since `before` if that is given. Before node 24.6 it is the time that has gone by. */
async function usageOf(thread: Partial<Worker>, before: NodeJS.CpuUsage | undefined): Promise<NodeJS.CpuUsage> {
  if (thread.cpuUsage) return thread.cpuUsage(before);
  return { user: monotonic() * 1000 - (before?.user ?? 0), system: 0 };
}
