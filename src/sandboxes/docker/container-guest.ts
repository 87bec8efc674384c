import type { Socket } from "node:net";
import { FrameDecoder } from "../../../bridge/wire.ts";
import { FrameQueue } from "../frame-queue.ts";
import { keepAwake, stopKeepingAwake } from "../keep-awake.ts";
import { LastWords } from "../last-words.ts";
import {
  endOfOversize,
  type Connection,
  type Exit,
  type Guest,
  type KillReason,
  type ResourceUsage,
} from "../sandbox.ts";
import { AttachedStream } from "./attached-stream.ts";
import { Container, FolderUnseen } from "./container.ts";
import type { ContainerPlan } from "./container-options.ts";
import type { Daemon } from "./daemon.ts";
import { UnsentFrames } from "../unsent-frames.ts";

/** Frames that the host has not read yet, in UTF-16 code units, before the guest is made to wait. */
const UNREAD_LENGTH = 256 * 1024;
/** Largest frame while no program runs: `ready`. */
const GREETING_BYTES = 4096;
/** What a container may print on standard error. It is read and dropped, which takes the host's time. */
const STDERR_BYTES = 16 * 1024 * 1024;
const LAST_WORDS_BYTES = 8192;
/** How often the memory of a busy container is read. A shorter program has no figure. */
const WATCH_MS = 250;
/** How long a guest may take to greet, in milliseconds. */
const GREETING_MS = 20_000;

/** The guest in a container: its bridge, its standard error, its end. A container never serves a second program. */
export class ContainerGuest implements Guest {
  readonly frames: FrameQueue;
  readonly exit: Promise<Exit>;
  /** Resolves once the container is gone, or with false where the daemon did not remove it. */
  readonly removed: Promise<boolean>;
  readonly #container: Container;
  readonly #decoder = new FrameDecoder(GREETING_BYTES);
  /** The way that the guest spoke on first, which is the bridge from then on: pipes or standard streams. */
  #bridge: Socket | undefined;
  #unsent: UnsentFrames | undefined;
  readonly #exited = Promise.withResolvers<Exit>();
  readonly #gone = Promise.withResolvers<boolean>();
  readonly #greeted = Promise.withResolvers<void>();
  #watch: NodeJS.Timeout | undefined;
  #reading = false;
  #ending: Exit | undefined;
  readonly #lastWords = new LastWords(LAST_WORDS_BYTES);
  #stderrBytes = 0;
  #peakBytes = 0;

  private constructor(container: Container) {
    this.#container = container;
    this.exit = this.#exited.promise;
    this.removed = this.#gone.promise;
    this.frames = new FrameQueue(UNREAD_LENGTH, (pause) => {
      if (pause) this.#bridge?.pause();
      else this.#bridge?.resume();
    });
    const { stream, pipes, pipeEnds } = container;
    const attached = new AttachedStream(
      (chunk) => this.#hear(stream, stream, chunk),
      (chunk) => this.#noteStderr(chunk),
    );
    stream.on("data", (chunk: Buffer) => attached.push(chunk));
    stream.on("error", () => {});
    stream.once("close", () => void this.#die());
    pipes?.fromGuest.on("data", (chunk: Buffer) => this.#hear(pipes.fromGuest, pipes.toGuest, chunk));
    for (const pipe of pipeEnds) pipe.on("error", () => {});
  }

  /**
   * Makes and starts a container, whose guest has greeted or has ended. Rejects with what the daemon said, and leaves
   * none behind; `onLeft` gets the name of one that may be there all the same.
   */
  static async start(
    daemon: Daemon,
    plan: ContainerPlan,
    onLeft: (id: string) => void = () => {},
  ): Promise<ContainerGuest> {
    let guest: ContainerGuest | undefined;
    try {
      const container = await Container.make(daemon, plan, onLeft);
      guest = new ContainerGuest(container);
      await container.start();
      await Promise.all([container.findProcessorTime(), guest.#greeting()]);
      return guest;
    } catch (error) {
      // If it runs after all, its guest ends with the connection.
      guest?.kill("it could not be started");
      if (!(error instanceof FolderUnseen)) throw error;
      daemon.sharesNothing();
      return ContainerGuest.start(daemon, plan, onLeft);
    }
  }

  /** The container's name. */
  get id(): string {
    return this.#container.id;
  }

  /** Whether it has ended, or has been told to. */
  get ended(): boolean {
    return this.#ending !== undefined;
  }

  /** Gives the container to a program, whose largest frame this is. */
  handOver(frameBytes: number): void {
    if (this.ended) return;
    this.#decoder.allowed = frameBytes;
    this.#container.beginCounting();
    this.#watch = setInterval(() => void this.#watchMemory(), WATCH_MS).unref();
  }

  /** Sets the listener for connections to hosts outside. */
  tellConnections(listener: (connection: Connection) => void): void {
    this.#container.tellConnections(listener);
  }

  ref(): void {
    this.#container.ref();
  }

  unref(): void {
    this.#container.unref();
  }

  send(frames: readonly string[]): void {
    if (this.ended) return;
    this.#unsent?.push(frames);
    // By way of the daemon a reply takes longer than it is worth to stay awake for.
    if (this.#bridge === this.#container.pipes?.fromGuest) keepAwake();
  }

  usage(): ResourceUsage {
    return { peakMemoryBytes: this.#peakBytes, processorMs: this.#container.processorMs };
  }

  kill(reason: KillReason): void {
    this.#end({ type: "killed", reason });
  }

  release(): void {
    this.#end({ type: "released" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill("disposed");
    await this.exit;
  }

  /** The connection is cut first: a daemon that waits for its output to be read may not answer any call before. */
  #end(exit: Exit): void {
    if (this.ended) return;
    this.#ending = exit;
    clearInterval(this.#watch);
    // For the last time that it can be read.
    this.usage();
    if (exit.type === "memory") this.#peakBytes = Math.max(this.#peakBytes, exit.seenBytes);
    this.#unsent?.clear();
    this.#container.close();
    this.frames.end();
    // A released program does not wait for its container's removal.
    if (exit.type === "released") this.#exited.resolve(exit);
    void this.#container.remove().then((removed) => {
      this.#exited.resolve(exit);
      this.#gone.resolve(removed);
    });
  }

  /** Waits for the first frame: time before that is not the program's. */
  async #greeting(): Promise<void> {
    const tooLate = setTimeout(() => this.kill("its guest has not greeted"), GREETING_MS);
    await Promise.race([this.#greeted.promise, this.exit]);
    clearTimeout(tooLate);
  }

  /** Takes what came on one of the two ways. The first that is used is the bridge; what comes on the other is printed text. */
  #hear(way: Socket, back: Socket, chunk: Buffer): void {
    if (this.#bridge === undefined) {
      this.#bridge = way;
      this.#unsent = new UnsentFrames(back);
      this.#greeted.resolve();
    }
    if (this.#bridge === way) this.#receive(chunk);
    else this.#noteStderr(chunk);
  }

  #receive(chunk: Buffer): void {
    if (this.ended) return;
    stopKeepingAwake();
    this.frames.push(this.#decoder.push(chunk));
    const { oversize } = this.#decoder;
    if (oversize) this.#end(endOfOversize(oversize));
  }

  #noteStderr(chunk: Buffer): void {
    this.#stderrBytes += chunk.length;
    this.#lastWords.add(chunk);
    if (this.#stderrBytes > STDERR_BYTES)
      this.#end({ type: "broken", detail: `more than ${STDERR_BYTES} bytes on standard error` });
  }

  /** For the report alone: the kernel holds the container to its limit. */
  async #watchMemory(): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    const bytes = await this.#container.readMemory();
    this.#reading = false;
    if (bytes > this.#peakBytes) this.#peakBytes = bytes;
  }

  async #die(): Promise<void> {
    if (!this.ended) this.#end(await this.#container.causeOfDeath(this.#lastWords.text));
  }
}
