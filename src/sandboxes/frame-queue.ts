/** Memory of a queued frame besides its text, counted in UTF-16 code units. */
const FRAME_LENGTH = 64;

/**
 * Queue of frames that have arrived and are not read yet, for one writer and one reader. It reports when the reader
 * is so far behind that the writer should stop reading from the guest, and when the reader has caught up.
 */
export class FrameQueue implements AsyncIterable<readonly string[]> {
  #arrived: string[] = [];
  #queuedLength = 0;
  #ended = false;
  #wake: ((next: IteratorResult<readonly string[], void>) => void) | undefined;
  readonly #maxLength: number;
  readonly #onPressure: (pause: boolean) => void;

  /** `maxLength` is in UTF-16 code units. `onPressure(true)` asks the writer to pause, `onPressure(false)` to resume. */
  constructor(maxLength: number, onPressure: (pause: boolean) => void) {
    this.#maxLength = maxLength;
    this.#onPressure = onPressure;
  }

  push(frames: readonly string[]): void {
    if (this.#ended || frames.length === 0) return;
    for (const frame of frames) {
      this.#arrived.push(frame);
      this.#queuedLength += frame.length + FRAME_LENGTH;
    }
    if (this.#queuedLength > this.#maxLength) this.#onPressure(true);
    this.#notify();
  }

  /** Ends the queue. Frames that have arrived can still be read. */
  end(): void {
    this.#ended = true;
    this.#notify();
  }

  /** A plain iterator with one promise for each batch, because this runs for every tool call. */
  [Symbol.asyncIterator](): AsyncIterator<readonly string[], void, undefined> {
    return {
      next: () =>
        new Promise((resolve) => {
          this.#wake = resolve;
          if (this.#arrived.length > 0 || this.#ended) this.#notify();
        }),
    };
  }

  #take(): readonly string[] {
    const frames = this.#arrived;
    this.#arrived = [];
    if (this.#queuedLength > this.#maxLength) this.#onPressure(false);
    this.#queuedLength = 0;
    return frames;
  }

  #notify(): void {
    const wake = this.#wake;
    if (!wake) return;
    this.#wake = undefined;
    wake(this.#arrived.length > 0 ? { done: false, value: this.#take() } : { done: true, value: undefined });
  }
}
