import type { Socket } from "node:net";
import { after, ignore, OutputTail } from "../../../base/index.ts";
import type { Closing } from "../../closing.ts";
import { FrameChannel } from "../../frame-channel.ts";
import { keepAwake } from "../../keep-awake.ts";
import {
  EndingGuest,
  type Exit,
  type Guest,
  type Offer,
  type OpenOptions,
  type ResourceUsage,
  usageOf,
} from "../../sandbox.ts";
import type { FramePieces } from "../../unsent-frames.ts";
import { Container } from "./container.ts";
import type { ContainerPlan } from "../container-options.ts";
import { type Daemon, DaemonTimeout } from "../daemon.ts";

/** Bytes that a container may print on standard error. They are dropped, but reading them costs the host time. */
const STDERR_BYTES = 16 * 1024 * 1024;
const STDERR_TAIL_BYTES = 8192;
/** How long a guest may take to send `ready`, in milliseconds. */
const GREETING_MS = 20_000;

/** The guest in one container, which runs one program only. */
export class ContainerGuest extends EndingGuest implements Guest {
  readonly #container: Container;
  /** Connected to the streams that carried the guest's first bytes: the pipes or the standard streams. */
  readonly #channel = new FrameChannel();
  readonly frames = this.#channel.frames;
  readonly #gone = Promise.withResolvers<void>();
  /** Resolves once the container is removed, or the daemon did not remove it. */
  readonly removed = this.#gone.promise;
  readonly #greeted = Promise.withResolvers<void>();
  #ending: Exit | undefined;
  readonly #stderrTail = new OutputTail(STDERR_TAIL_BYTES);
  #stderrBytes = 0;
  /** Of a program that has used up its memory. The kernel enforces the limit, and what others use is not read. */
  #peakBytes = 0;
  readonly #readProcessor = () => this.#container.processor?.ms;
  #offered: Offer | undefined;
  #onOffer: (offer: Offer | undefined) => void = ignore;

  private constructor(container: Container, stream: Socket) {
    super();
    this.#container = container;
    const { pipes } = container;
    const attached = attachedStream(
      (chunk) => this.#receiveFrom(stream, stream, chunk),
      (chunk) => this.#noteStderr(chunk),
    );
    stream.on("data", attached);
    stream.on("error", ignore);
    stream.once("close", () => void this.#die());
    pipes?.fromGuest.on("data", (chunk: Buffer) => this.#receiveFrom(pipes.fromGuest, pipes.toGuest, chunk));
    pipes?.fromGuest.on("error", ignore);
    pipes?.toGuest.on("error", ignore);
  }

  /**
   * Creates and starts a container. Resolves when its guest has sent `ready` or has ended. Rejects with the daemon's
   * error after removing the container. A daemon on this machine that cannot mount its folders starts one without pipes.
   */
  static async start(daemon: Daemon, plan: ContainerPlan): Promise<ContainerGuest> {
    const container = new Container(daemon, plan);
    let guest: ContainerGuest | undefined;
    try {
      guest = new ContainerGuest(container, await container.create());
      await container.start();
      await Promise.all([container.findProcessorTime(), guest.#greeting()]);
      return guest;
    } catch (error) {
      // A container that started in spite of the error ends with its connection.
      guest?.kill("it could not be started");
      container.close();
      await (guest?.removed ?? container.remove(error instanceof DaemonTimeout));
      if (!container.isMountRefused(error)) throw error;
      if (container.door) throw daemon.noMount(container.door.folder, error);
      daemon.disableMounts();
      return ContainerGuest.start(daemon, plan);
    }
  }

  get id(): string {
    return this.#container.id;
  }

  get ended(): boolean {
    return this.#ending !== undefined;
  }

  /** Assigns the container to a program. `frameBytes` is the largest frame that the guest may send. */
  handOver(frameBytes: number, onConnection: OpenOptions["onConnection"]): void {
    if (onConnection) this.#container.door?.setListener(onConnection);
    if (this.ended) return;
    this.#channel.allow(frameBytes);
    this.#container.processor?.begin();
  }

  /** Sets the listener for offers. It is called with undefined when the program no longer waits. */
  setOfferListener(listener: (offer: Offer | undefined) => void): void {
    this.#onOffer = listener;
  }

  hold(isHeld: boolean): void {
    this.#container.hold(isHeld);
  }

  send(frames: readonly FramePieces[]): void {
    if (this.ended) return;
    this.#onOffer(undefined);
    this.#channel.send(frames);
    // A reply through the daemon takes too long to stay awake for.
    if (this.#channel.source === this.#container.pipes?.fromGuest) keepAwake();
  }

  get unsent(): number {
    return this.#channel.unsent;
  }

  usage(): ResourceUsage {
    return usageOf(this.#peakBytes, this.#readProcessor);
  }

  /** A program that has a connection to outside cannot be replayed: what it reads there comes only once. */
  offer(offer: Offer): void {
    if (this.ended) return;
    this.#offered = this.#isConnected ? { ...offer, ownMs: Infinity, othersMs: offer.lostMs } : offer;
    this.#onOffer(this.#offered);
  }

  evict(closing: Closing): void {
    // It may have connected while it waits for the host.
    if (this.#isConnected && this.#offered && this.#offered.ownMs < Infinity) return this.offer(this.#offered);
    this.end({ type: "evicted", closing });
  }

  /** Whether the guest has made a connection to outside, also one that has not ended. */
  get #isConnected(): boolean {
    return this.#container.door?.proxy.isUsed === true;
  }

  /** Closes the connection first: a daemon that waits for its output to be read may not answer other requests until then. */
  protected end(exit: Exit): void {
    if (this.ended) return;
    this.#ending = exit;
    this.#onOffer(undefined);
    // Takes the last reading of processor time before the container is removed.
    this.#readProcessor();
    if (exit.type === "memory") this.#peakBytes = exit.seenBytes;
    this.#channel.clear();
    this.#container.close();
    this.frames.end();
    // The exit of a guest whose program has nothing to run does not wait for the container's removal.
    if (exit.type === "released" || exit.type === "evicted") this.exited.resolve(exit);
    void this.#container.remove().then(() => {
      this.exited.resolve(exit);
      this.#gone.resolve();
    });
  }

  /** Waits for the first bytes, so that start-up does not count as the program's time. */
  async #greeting(): Promise<void> {
    using _ = after(GREETING_MS, () => this.kill("its guest did not send ready in time"));
    await Promise.race([this.#greeted.promise, this.exit]);
  }

  /** Handles bytes from the pipes or from standard output. The first of the two in use is the bridge; bytes on the other are printed text. */
  #receiveFrom(source: Socket, sink: Socket, chunk: Buffer): void {
    if (!this.#channel.source) {
      this.#channel.connect(source, sink);
      this.#greeted.resolve();
    }
    if (this.#channel.source !== source) return this.#noteStderr(chunk);
    if (this.ended) return;
    this.frames.push(this.#channel.decode(chunk));
    const { refusal } = this.#channel;
    if (refusal) this.end(refusal);
  }

  #noteStderr(chunk: Buffer): void {
    this.#stderrBytes += chunk.length;
    this.#stderrTail.add(chunk);
    if (this.#stderrBytes > STDERR_BYTES)
      this.end({ type: "broken", detail: `more than ${STDERR_BYTES} bytes on standard error` });
  }

  async #die(): Promise<void> {
    if (!this.ended) this.end(await this.#container.causeOfDeath(this.#stderrTail.text));
  }
}

const HEADER_BYTES = 8;
const STDERR = 2;

/**
 * Splits the daemon's stream of a container's output into standard output and standard error. Each part has a header of
 * eight bytes: the first names the output, the last four give the part's length. Only an incomplete header is buffered.
 */
export function attachedStream(
  onStdout: (chunk: Buffer) => void,
  onStderr: (chunk: Buffer) => void,
): (chunk: Buffer) => void {
  const header = Buffer.alloc(HEADER_BYTES);
  let headerBytes = 0;
  /** Bytes of the current part that have not arrived yet. */
  let remaining = 0;
  const readHeader = (chunk: Buffer, at: number): number => {
    const copied = chunk.copy(header, headerBytes, at);
    headerBytes = (headerBytes + copied) % HEADER_BYTES;
    if (headerBytes === 0) remaining = header.readUInt32BE(4);
    return copied;
  };
  return (chunk) => {
    for (let at = 0; at < chunk.length;) {
      if (remaining === 0) {
        at += readHeader(chunk, at);
        continue;
      }
      const part = chunk.subarray(at, at + remaining);
      remaining -= part.length;
      at += part.length;
      if (header[0] === STDERR) onStderr(part);
      else onStdout(part);
    }
  };
}
