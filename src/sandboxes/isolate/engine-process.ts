import { ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { after, cancel, ignore, monotonic, nextTick, OutputTail, startWith, type Timer } from "../../base/index.ts";
import { FrameChannel } from "../frame-channel.ts";
import type { FrameQueue } from "../frame-queue.ts";
import { EndingGuest, exitOfDeath, type Exit, MEMORY_ABORT } from "../sandbox.ts";
import { hostMark } from "./janitor.ts";
import { keepAwake } from "../keep-awake.ts";
import type { FramePieces } from "../unsent-frames.ts";
import { childOf } from "../host-process.ts";
import { type EngineCommand, engineFiles, ENVIRONMENT, startCommand } from "./engine-command.ts";
import { ProcessGauge } from "./process-gauges.ts";

/** How long after an engine's exit its pipes are still read, in milliseconds. */
const CLOSING_MS = 100;
const STDERR_TAIL_BYTES = 8192;

interface Serving {
  readonly tenant: string;
  /** When it was given its first program. */
  readonly since: number;
}

/** A program that has ended leaves a few frames behind. */
const MOST_LEFT_FRAMES = 1000;

/**
 * The process of one engine, its pipe and its exit. The pool decides about reuse; this class only reports what
 * happened.
 */
export class EngineProcess extends EndingGuest {
  readonly command: EngineCommand;
  /** Memory of the process when its first isolate was ready, in bytes; 0 if it cannot be read. */
  baseMemoryBytes = 0;
  /** Undefined before it is given its first program. */
  serving: Serving | undefined;
  preparedBytes = 0;
  #memory: ProcessGauge | undefined;
  #processor: ProcessGauge | undefined;
  readonly #child: ChildProcess;
  readonly #channel = new FrameChannel();
  #prepared: PromiseWithResolvers<void> | undefined;
  /** Whether the isolate requested last is ready. Frames before that are an earlier program's, and are dropped. */
  #isReady = false;
  #leftFrames = 0;
  #deadline: Timer | undefined;
  #ending: Exit | undefined;
  #hasExited = false;
  #onExit: ((exit: Exit) => void) | undefined;
  readonly #stderr = new OutputTail(STDERR_TAIL_BYTES);

  /** Starts the process. Never throws: if it cannot be started, it counts as ended and `exit` says why. */
  constructor(command: EngineCommand = startCommand()) {
    super();
    this.command = command;
    this.#child = startProcess(command);
    // Missing if the process could not be started.
    const pipe = this.#streams[3];
    if (pipe) this.#channel.connect(pipe, pipe);
    for (const stream of this.#streams) stream?.unref();
    pipe?.on("data", (chunk: Buffer) => this.#receive(chunk));
    pipe?.on("error", ignore);
    this.#streams[4]?.on("error", ignore);
    this.#child.stderr?.on("data", (chunk: Buffer) => this.#stderr.add(chunk));
    this.#child.once("error", ({ message }) =>
      this.#finish({ type: "died", detail: `the engine could not be started: ${message}` }),
    );
    // A process that the engine left behind may keep the pipes open, so they are closed after this time. Nothing else may
    // keep the host alive, which waits for the next engine.
    let closing: Timer | undefined;
    this.#child.once("exit", () => (closing = after(CLOSING_MS, () => this.#closePipes())));
    this.#child.once("close", (code, signal) => {
      cancel(closing);
      this.#finish(this.#ending ?? this.#causeOfDeath(code, signal));
    });
  }

  /**
   * The id of the engine's process, as the host sees it; undefined while there is none. A launcher has this one child. It is
   * asked each time: after the engine has ended, another process may have the id.
   */
  get pid(): number | undefined {
    const { pid } = this.#child;
    return pid !== undefined && this.command.parts?.includes("namespaces") ? childOf(pid) : pid;
  }

  /** Memory of the process now, in bytes; 0 if it cannot be read, and before its first isolate is ready. */
  get memoryBytes(): number {
    return this.#memory?.read() ?? 0;
  }

  /** Processor time of the thread that runs programs, in milliseconds since its start; undefined if it cannot be read. */
  get processorMs(): number | undefined {
    this.#processor ??= new ProcessGauge(this.pid ?? 0, "processor");
    return this.#hasExited ? undefined : this.#processor.read();
  }

  get ended(): boolean {
    return this.#hasExited || this.#ending !== undefined;
  }

  get unsent(): number {
    return this.#channel.unsent;
  }

  get frames(): FrameQueue {
    return this.#channel.frames;
  }

  /** Notes that the engine is given a program. From then on it runs programs of this tenant alone. */
  serve(tenant: string): void {
    this.serving ??= { tenant, since: monotonic() };
  }

  /**
   * Replaces the isolate with a new one for the next program. The new guest's frames arrive in a new `frames`. Rejects
   * if the engine ends first; an engine that takes longer than `withinMs` is ended.
   */
  prepare(memoryBytes: number, withinMs: number): Promise<void> {
    this.#channel.renew();
    this.#isReady = false;
    this.#prepared = Promise.withResolvers();
    const { promise, reject } = this.#prepared;
    promise.catch(ignore);
    this.preparedBytes = memoryBytes;
    if (this.ended) reject(new Error("the engine was ended"));
    // A new isolate takes too long to stay awake for.
    else this.#channel.send([`prepare ${memoryBytes}`]);
    cancel(this.#deadline);
    this.#deadline = after(withinMs, () => this.kill(`the engine was not ready within ${withinMs} ms`)).unref();
    return promise;
  }

  send(messages: readonly FramePieces[]): void {
    if (this.ended) return;
    this.#channel.send(messages);
    keepAwake();
  }

  /** Sets the largest frame that the guest may send. Before this only the small frames of an idle guest are allowed. */
  allowFrames(frameBytes: number): void {
    this.#channel.allow(frameBytes);
  }

  /** Calls this when the process has exited, for the program that has the engine: a reaction to `exit` would stay after it. */
  listen(onExit: ((exit: Exit) => void) | undefined): void {
    this.#onExit = onExit;
    if (onExit && this.#hasExited) void this.exit.then(onExit);
  }

  /** Keeps the host alive, as a running program should. */
  ref(): void {
    this.#child.ref();
  }

  /** Lets the host end while this engine idles. */
  unref(): void {
    this.#child.unref();
  }

  end(exit: Exit): void {
    if (this.ended) return;
    this.#ending = exit;
    this.#channel.clear();
    this.#kill();
    // The host must stay alive until the process has exited, even if it has nothing else to wait for.
    this.ref();
    for (const stream of this.#streams) stream?.ref();
  }

  /** Ends the engine itself, and its launcher with it: the engine could ask the kernel not to be ended with its launcher. */
  #kill(): void {
    const { pid } = this;
    try {
      if (pid !== undefined) process.kill(pid, "SIGKILL");
      // A child that could not be started has no process id, and its `kill` may signal another process.
      else if (this.#child.pid !== undefined) this.#child.kill("SIGKILL");
    } catch {
      // It has just ended.
    }
  }

  get #streams(): readonly (Socket | null)[] {
    return ((this.#child.stdio as ChildProcess["stdio"] | undefined) ?? []) as readonly (Socket | null)[];
  }

  #receive(chunk: Buffer): void {
    if (this.ended) return;
    const frames: string[] = [];
    for (const message of this.#channel.decode(chunk)) {
      if (!message.startsWith("{")) this.#handleReport(message);
      else if (this.#isReady) frames.push(message);
      else this.#leftFrames += 1;
    }
    if (this.#leftFrames > MOST_LEFT_FRAMES)
      return this.end({ type: "broken", detail: `the engine sent ${this.#leftFrames} frames before it was ready` });
    this.frames.push(frames);
    const { refusal } = this.#channel;
    if (refusal) this.end(refusal);
  }

  #handleReport(report: string): void {
    if (report === "prepared") {
      this.#isReady = true;
      this.#leftFrames = 0;
      cancel(this.#deadline);
      this.#memory ??= new ProcessGauge(this.pid ?? 0, "memory");
      if (this.baseMemoryBytes === 0) this.baseMemoryBytes = this.memoryBytes;
      this.#prepared?.resolve();
    } else if (report === "memory") {
      this.end({ type: "memory", seenBytes: 0 });
    } else {
      this.end({ type: "broken", detail: report });
    }
  }

  #closePipes(): void {
    for (const stream of this.#streams) stream?.destroy();
  }

  #causeOfDeath(code: number | null, signal: NodeJS.Signals | null): Exit {
    const { text } = this.#stderr;
    if (MEMORY_ABORT.test(text)) return { type: "memory", seenBytes: 0 };
    return exitOfDeath(`the engine ended with ${signal ?? `exit code ${code}`}`, text);
  }

  #finish(exit: Exit): void {
    this.#hasExited = true;
    cancel(this.#deadline);
    this.#memory?.close();
    this.#channel.clear();
    this.#processor?.close();
    this.#closePipes();
    this.frames.end();
    this.#prepared?.reject(new Error("detail" in exit ? exit.detail : "the engine was ended"));
    this.exited.resolve(exit);
    this.#onExit?.(exit);
  }
}

/**
 * Starts the process of an engine. The child's `error` event reports every failure to start, also if node throws:
 * without free file descriptors files cannot be read and pipes cannot be made, and memory may run out.
 */
function startProcess({ command, prefix, mode }: EngineCommand): ChildProcess {
  try {
    return startWith(["ignore", "ignore", "pipe", "pipe", "pipe"], (stdio) =>
      spawn(command, [...prefix, ...engineArguments(mode)], {
        stdio,
        env: ENVIRONMENT,
        windowsHide: true,
        // A process group of its own: a terminal sends Ctrl-C to the whole group of the host, which ends its engines itself.
        detached: process.platform !== "win32",
      }),
    );
  } catch (error) {
    const child = new ChildProcess();
    nextTick(() => child.emit("error", error));
    return child;
  }
}

/** Node's permissions are a second barrier for a program that escapes its isolate: the process may read only its own four files. */
function engineArguments(mode: EngineCommand["mode"]): string[] {
  const files = engineFiles();
  return [
    "--permission",
    "--allow-addons",
    ...(mode === "watch" ? ["--allow-worker"] : []),
    ...files.map((path) => `--allow-fs-read=${path}`),
    "--no-warnings",
    "--no-node-snapshot",
    ...files,
    mode,
    hostMark(),
  ];
}
