import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type { Language } from "../../../bridge/frames.ts";
import { FrameDecoder } from "../../../bridge/wire.ts";
import { PortcullisError } from "../../errors.ts";
import { FrameQueue } from "../frame-queue.ts";
import {
  endOfOversize,
  type Connection,
  type Exit,
  type Guest,
  type KillReason,
  type ResourceUsage,
} from "../sandbox.ts";
import { LastWords } from "../last-words.ts";
import { keepAwake, stopKeepingAwake } from "../keep-awake.ts";
import { AttachedStream } from "./attached-stream.ts";
import { BridgePipes } from "./bridge-pipes.ts";
import { type ContainerPlan, containerOptions } from "./container-options.ts";
import { type Daemon, DaemonSilence } from "./daemon.ts";
import { readMemory } from "./memory-reading.ts";
import { EgressDoor } from "./egress/egress-door.ts";
import { ProcessorTime } from "./processor-time.ts";
import { UnsentFrames } from "../unsent-frames.ts";

/** Frames that the host has not read yet, in UTF-16 code units, before the guest is made to wait. */
const UNREAD_LENGTH = 256 * 1024;
/** Largest frame while no program runs: `ready`. */
const GREETING_BYTES = 4096;
/** What a container may print on standard error. It is read and dropped, which takes the host's time. */
const STDERR_BYTES = 16 * 1024 * 1024;
const LAST_WORDS_BYTES = 8192;
/** How often it is asked what a busy container takes. A program that is sooner done has no figure. */
const WATCH_MS = 250;
/** How long a container whose bridge has ended may take to end itself, in milliseconds. */
const ENDING_MS = 2000;
/** How long a guest may take to greet, in milliseconds. */
const GREETING_MS = 20_000;
const MOUNT_REFUSED = /bind source|invalid mount|mounting/i;
/** What V8 prints before it ends for memory, and `run-javascript.js` where only the isolate has ended. */
const MEMORY_ABORT = /is_heap_oom = 1|out of memory|invalid size error|allocation fail|heap limit/i;

/**
 * One container and the guest in it: made, started, listened to, and removed at its end, whatever that was. A
 * container never serves a second program.
 */
export class ContainerGuest implements Guest {
  readonly frames: FrameQueue;
  readonly exit: Promise<Exit>;
  /** The container's name. */
  readonly id: string;
  /** Resolves once the container is gone, or with false where the engine could not be made to remove it. */
  readonly removed: Promise<boolean>;
  readonly #daemon: Daemon;
  readonly #memoryBytes: number;
  readonly #language: Language;
  /** The container's standard streams: its bridge, where it has no pipes. */
  readonly #stream: Socket;
  readonly #pipes: BridgePipes | undefined;
  readonly #door: EgressDoor | undefined;
  readonly #decoder = new FrameDecoder(GREETING_BYTES);
  /** Where the guest spoke first, and is spoken to since. */
  #voice: Socket | undefined;
  #unsent: UnsentFrames | undefined;
  readonly #exited = Promise.withResolvers<Exit>();
  readonly #gone = Promise.withResolvers<boolean>();
  readonly #heard = Promise.withResolvers<void>();
  #watch: NodeJS.Timeout | undefined;
  #reading = false;
  #ending: Exit | undefined;
  readonly #lastWords = new LastWords(LAST_WORDS_BYTES);
  #stderrBytes = 0;
  #peakBytes = 0;
  #processor: ProcessorTime | undefined;

  private constructor(daemon: Daemon, { id, stream, pipes, door, plan }: Started) {
    this.#daemon = daemon;
    this.id = id;
    this.#memoryBytes = plan.limits.heapBytes;
    this.#language = plan.language;
    this.#stream = stream;
    this.#pipes = pipes;
    this.#door = door;
    this.exit = this.#exited.promise;
    this.removed = this.#gone.promise;
    this.frames = new FrameQueue(UNREAD_LENGTH, (pause) => {
      if (pause) this.#voice?.pause();
      else this.#voice?.resume();
    });
    const attached = new AttachedStream(
      (chunk) => this.#hear(stream, stream, chunk),
      (chunk) => this.#note(chunk),
    );
    stream.on("data", (chunk: Buffer) => attached.push(chunk));
    stream.on("error", () => {});
    stream.once("close", () => void this.#die());
    if (!pipes) return;
    pipes.fromGuest.on("data", (chunk: Buffer) => this.#hear(pipes.fromGuest, pipes.toGuest, chunk));
    for (const pipe of this.#pipeEnds) pipe.on("error", () => {});
  }

  /**
   * Makes and starts a container, whose guest has greeted or has ended. Rejects with what the engine said, and leaves
   * none behind; `onLeft` is told the name of one that may be there all the same.
   */
  static async start(
    daemon: Daemon,
    plan: ContainerPlan,
    onLeft: (id: string) => void = () => {},
  ): Promise<ContainerGuest> {
    const pipes = await makePipes(daemon, plan);
    // A name of our own, so that it can be removed also where the engine's answer was lost.
    const id = `portcullis-${randomUUID()}`;
    let door: EgressDoor | undefined;
    let guest: ContainerGuest | undefined;
    try {
      if (plan.egress) door = await EgressDoor.open(plan.egress);
      await daemon.ask((docker, abortSignal) =>
        docker.createContainer({
          ...containerOptions(plan, { pipes: pipes?.folder, egress: door?.folder }),
          name: id,
          abortSignal,
        }),
      );
      const stream = await attach(daemon, id);
      guest = new ContainerGuest(daemon, { id, stream, pipes, door, plan });
      await daemon.ask((docker, abortSignal) => docker.getContainer(id).start({ abortSignal }));
      const [processor] = await Promise.all([ProcessorTime.of(daemon, id).catch(() => undefined), guest.#greeting()]);
      guest.#processor = processor;
      return guest;
    } catch (error) {
      // If it runs after all, its guest ends with the connection.
      guest?.kill("it could not be started");
      pipes?.close();
      door?.close();
      // What an engine was asked, and has not answered, it may still do.
      if (!(await removeContainer(daemon, id)) || error instanceof DaemonSilence) onLeft(id);
      // An engine may live on this machine and not see its temporary folder.
      if (pipes === undefined || !MOUNT_REFUSED.test((error as Error).message)) throw error;
      if (door)
        throw new PortcullisError(
          "sandbox_unavailable",
          `The Docker engine at ${daemon.address} does not see the folder ${door.folder}, and egress takes a socket there: use another engine, or egress "none".`,
          { cause: error },
        );
      daemon.sharesNothing();
      return ContainerGuest.start(daemon, plan, onLeft);
    }
  }

  /** Whether it has ended, or has been told to. */
  get ended(): boolean {
    return this.#ending !== undefined;
  }

  /** Gives the container to a program, whose largest frame this is. */
  handOver(frameBytes: number): void {
    if (this.ended) return;
    this.#decoder.allowed = frameBytes;
    this.#processor?.begin();
    this.#watch = setInterval(() => void this.#watchMemory(), WATCH_MS).unref();
  }

  /** Sets who is told of connections to the world outside. */
  tellConnections(listener: (connection: Connection) => void): void {
    this.#door?.tellTo(listener);
  }

  /** Keeps the host alive, as a running program should. */
  ref(): void {
    for (const stream of this.#streams) stream.ref?.();
    this.#door?.ref();
  }

  /** Lets the host end while this container idles. */
  unref(): void {
    for (const stream of this.#streams) stream.unref?.();
    this.#door?.unref();
  }

  send(frames: readonly string[]): void {
    if (this.ended) return;
    this.#unsent?.push(frames);
    // By way of the engine a reply takes longer than it is worth to stay awake for.
    if (this.#pipes && this.#voice === this.#pipes.fromGuest) keepAwake();
  }

  usage(): ResourceUsage {
    return { peakMemoryBytes: this.#peakBytes, processorMs: this.#processor?.ms };
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

  /** The connection is cut first: an engine that waits for its output to be read may not answer any call before. */
  #end(exit: Exit): void {
    if (this.ended) return;
    this.#ending = exit;
    clearInterval(this.#watch);
    // For the last time that it can be read.
    this.usage();
    if (exit.type === "memory") this.#peakBytes = Math.max(this.#peakBytes, exit.seenBytes);
    this.#unsent?.clear();
    this.#stream.destroy();
    this.#pipes?.close();
    this.#door?.close();
    this.frames.end();
    // Nobody waits for the end of a container whose program has had its own.
    if (exit.type === "released") this.#exited.resolve(exit);
    void removeContainer(this.#daemon, this.id).then((removed) => {
      this.#exited.resolve(exit);
      this.#gone.resolve(removed);
    });
  }

  /** Until then its time is not the program's. */
  async #greeting(): Promise<void> {
    const tooLate = setTimeout(() => this.kill("its guest has not greeted"), GREETING_MS);
    await Promise.race([this.#heard.promise, this.exit]);
    clearTimeout(tooLate);
  }

  /** An engine that is reached by ssh has a stream that knows no `ref`. */
  get #streams(): readonly Partial<Pick<Socket, "ref" | "unref">>[] {
    return [this.#stream, ...this.#pipeEnds];
  }

  get #pipeEnds(): readonly Socket[] {
    return this.#pipes ? [this.#pipes.fromGuest, this.#pipes.toGuest] : [];
  }

  /** Takes what came on one of the two ways. The first that is used is the bridge, on the other one things are merely printed. */
  #hear(voice: Socket, ear: Socket, chunk: Buffer): void {
    if (this.#voice === undefined) {
      this.#voice = voice;
      this.#unsent = new UnsentFrames(ear);
      this.#heard.resolve();
    }
    if (this.#voice === voice) this.#receive(chunk);
    else this.#note(chunk);
  }

  #receive(chunk: Buffer): void {
    if (this.ended) return;
    stopKeepingAwake();
    this.frames.push(this.#decoder.push(chunk));
    const { oversize } = this.#decoder;
    if (oversize) this.#end(endOfOversize(oversize));
  }

  #note(chunk: Buffer): void {
    this.#stderrBytes += chunk.length;
    this.#lastWords.add(chunk);
    if (this.#stderrBytes > STDERR_BYTES)
      this.#end({ type: "broken", detail: `more than ${STDERR_BYTES} bytes on standard error` });
  }

  /** For the report alone: what the container may take, the kernel sees to. */
  async #watchMemory(): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    const bytes = await readMemory(this.#daemon, this.id).catch(() => 0);
    this.#reading = false;
    if (bytes > this.#peakBytes) this.#peakBytes = bytes;
  }

  async #die(): Promise<void> {
    if (!this.ended) this.#end(await this.#causeOfDeath());
  }

  /**
   * Whether V8 has ended it because its heap was full: the kernel has not, so there is only V8's word, on standard error.
   * A program in JavaScript has none, unless it has broken out, and then the memory is there for it to take. Python's
   * programs and their children write what they like there, so of theirs nothing is believed.
   */
  #endedByHeap(exitCode: number): boolean {
    // With 1 `run-javascript.js` ends; V8 by a signal.
    return (
      this.#language === "javascript" && (exitCode === 1 || exitCode > 128) && MEMORY_ABORT.test(this.#lastWords.text)
    );
  }

  async #causeOfDeath(): Promise<Exit> {
    const lastWords = this.#lastWords.text.trim().slice(-500);
    try {
      await this.#daemon.ask((docker, abortSignal) => docker.getContainer(this.id).wait({ abortSignal }), ENDING_MS);
      const { oomKilled, exitCode } = await inspectState(this.#daemon, this.id);
      if (oomKilled || this.#endedByHeap(exitCode)) return { type: "memory", seenBytes: this.#memoryBytes };
      return {
        type: "died",
        detail: `the container ended with exit code ${exitCode}${lastWords === "" ? "" : `: ${lastWords}`}`,
      };
    } catch (error) {
      const detail = error instanceof Error ? error.message.trim() : String(error);
      return { type: "died", detail: `the container's bridge ended, and not the container: ${detail}` };
    }
  }
}

/** How a container has ended, by the engine's word. */
async function inspectState(daemon: Daemon, id: string) {
  const found: { readonly State?: { readonly OOMKilled?: unknown; readonly ExitCode?: unknown } | null } =
    await daemon.ask((docker, abortSignal) => docker.getContainer(id).inspect({ abortSignal }));
  const { OOMKilled: oomKilled, ExitCode: exitCode } = found.State ?? {};
  if (typeof exitCode !== "number") throw daemon.strange("how a container has ended");
  return { oomKilled: oomKilled === true, exitCode };
}

/** Where there can be none, the container's standard streams will do: gVisor, for one, opens no pipe of its host's. */
async function makePipes(daemon: Daemon, { runtime }: ContainerPlan): Promise<BridgePipes | undefined> {
  if (runtime !== "runc" || !(await daemon.sharesMachine())) return undefined;
  return BridgePipes.make().catch(() => undefined);
}

/** What a guest is made of. */
interface Started {
  /** The container's name. */
  readonly id: string;
  readonly stream: Socket;
  readonly pipes: BridgePipes | undefined;
  readonly door: EgressDoor | undefined;
  readonly plan: ContainerPlan;
}

/**
 * Connects to a container's standard streams. The client's own `attach` sends its options as a body, which an engine
 * may take for the guest's first input; this request has none.
 */
async function attach(daemon: Daemon, id: string): Promise<Socket> {
  const socket = await daemon.dial({
    path: `/containers/${id}/attach?`,
    method: "POST",
    options: { stream: true, stdin: true, stdout: true, stderr: true },
    file: Buffer.alloc(0),
    hijack: true,
    isStream: true,
    statusCodes: { 200: true, 404: "no such container", 500: "server error" },
  });
  return socket as Socket;
}

/** Ends a container, whatever it does, and removes it. A container that stays is found by its label later. */
export async function removeContainer(daemon: Daemon, id: string): Promise<boolean> {
  try {
    await daemon.ask((docker, abortSignal) => docker.getContainer(id).remove({ force: true, v: true, abortSignal }));
    return true;
  } catch (error) {
    return (error as { readonly statusCode?: number }).statusCode === 404;
  }
}
