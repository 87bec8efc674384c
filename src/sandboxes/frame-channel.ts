import type { Readable, Writable } from "node:stream";
import { FrameDecoder } from "../../bridge/wire.ts";
import { type FrameQueue, frameQueue } from "./frame-queue.ts";
import { DueReply } from "./keep-awake.ts";
import { endOfRefused, type Exit } from "./sandbox.ts";
import { type FramePieces, UnsentFrames } from "./unsent-frames.ts";

/** Length of unread frames above which the host stops reading from the guest, in UTF-16 code units. */
const UNREAD_LENGTH = 256 * 1024;
/** Largest frame while no program runs: `ready`, and what an engine reports. */
const IDLE_BYTES = 4096;

/** The frames between the host and a guest, over a stream in each direction. Until `allow` the guest may send small frames only. */
export class FrameChannel {
  readonly #decoder = new FrameDecoder(IDLE_BYTES);
  /** The stream from the guest; undefined before `connect`. */
  source: Readable | undefined;
  frames = this.#newQueue();
  #unsent: UnsentFrames | undefined;
  readonly #reply = new DueReply();

  /** How a guest ends if it has sent a frame that is refused. */
  get refusal(): Exit | undefined {
    const { refused } = this.#decoder;
    return refused && endOfRefused(refused);
  }

  /** Frames that the guest cannot have read yet. */
  get unsent(): number {
    return this.#unsent?.waiting ?? 0;
  }

  connect(source: Readable, sink: Writable): void {
    this.source = source;
    this.#unsent = new UnsentFrames(sink);
  }

  /** Another guest speaks from now on. Its frames come in a new queue. */
  renew(): void {
    this.frames = this.#newQueue();
    this.#decoder.allowed = IDLE_BYTES;
    // The queue that has asked for the pause may never be read to its end.
    this.source?.resume();
  }

  allow(frameBytes: number): void {
    this.#decoder.allowed = frameBytes;
  }

  send(frames: readonly FramePieces[]): void {
    this.#reply.expect();
    this.#unsent?.push(frames);
  }

  decode(chunk: Buffer): string[] {
    this.#reply.forget();
    return this.#decoder.push(chunk);
  }

  clear(): void {
    this.#reply.forget();
    this.#unsent?.clear();
  }

  #newQueue(): FrameQueue {
    return frameQueue(UNREAD_LENGTH, (pause) => {
      if (pause) this.source?.pause();
      else this.source?.resume();
    });
  }
}
