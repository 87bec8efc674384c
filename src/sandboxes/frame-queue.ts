/** What a frame takes beside its text, in characters' worth. */
const FRAME_LENGTH = 64;

/**
 * Frames that have arrived and were not read yet: one writer, one reader. It says when the reader is so far
 * behind that the writer should stop reading from the guest, and when it has caught up.
 */
export class FrameQueue implements AsyncIterable<readonly string[]> {
  #arrived: string[] = [];
  #held = 0;
  #ended = false;
  #wake: (() => void) | undefined;
  readonly #most: number;
  readonly #onPressure: (pause: boolean) => void;

  /** `most` is in UTF-16 code units. `onPressure(true)` asks the writer to pause, `onPressure(false)` to go on. */
  constructor(most: number, onPressure: (pause: boolean) => void) {
    this.#most = most;
    this.#onPressure = onPressure;
  }

  push(frames: readonly string[]): void {
    if (this.#ended || frames.length === 0) return;
    for (const frame of frames) {
      this.#arrived.push(frame);
      this.#held += frame.length + FRAME_LENGTH;
    }
    if (this.#held > this.#most) this.#onPressure(true);
    this.#notify();
  }

  /** Nothing more will arrive. What has arrived can still be read. */
  end(): void {
    this.#ended = true;
    this.#notify();
  }

  /** Written out rather than as a generator: it runs for every call of a tool. */
  [Symbol.asyncIterator](): AsyncIterator<readonly string[], void, undefined> {
    return {
      next: async () => {
        while (this.#arrived.length === 0) {
          if (this.#ended) return { done: true, value: undefined };
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
        return { done: false, value: this.#take() };
      },
    };
  }

  #take(): readonly string[] {
    const frames = this.#arrived;
    this.#arrived = [];
    if (this.#held > this.#most) this.#onPressure(false);
    this.#held = 0;
    return frames;
  }

  #notify(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
