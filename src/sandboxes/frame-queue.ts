/** Memory of a queued frame besides its text, counted in UTF-16 code units. */
const FRAME_LENGTH = 64;

/**
 * Queue of frames that have arrived and are not read yet, for one writer and one reader. It reports when the reader
 * is so far behind that the writer should stop reading from the guest, and when the reader has caught up. `maxLength` is in
 * UTF-16 code units. `onPressure(true)` asks the writer to pause, `onPressure(false)` to resume.
 */
export function frameQueue(maxLength: number, onPressure: (pause: boolean) => void) {
  let arrived: string[] = [];
  let queuedLength = 0;
  let ended = false;
  let waiting: ((next: IteratorResult<readonly string[], void>) => void) | undefined;

  const take = (): readonly string[] => {
    const frames = arrived;
    arrived = [];
    if (queuedLength > maxLength) onPressure(false);
    queuedLength = 0;
    return frames;
  };

  const notify = (): void => {
    const wake = waiting;
    if (!wake) return;
    waiting = undefined;
    wake(arrived.length > 0 ? { done: false, value: take() } : { done: true, value: undefined });
  };

  return {
    push(frames: readonly string[]): void {
      if (ended || frames.length === 0) return;
      for (const frame of frames) {
        arrived.push(frame);
        queuedLength += frame.length + FRAME_LENGTH;
      }
      if (queuedLength > maxLength) onPressure(true);
      notify();
    },

    /** Ends the queue. Frames that have arrived can still be read. */
    end(): void {
      ended = true;
      notify();
    },

    /** A plain iterator with one promise for each batch, because this runs for every tool call. */
    [Symbol.asyncIterator]: (): AsyncIterator<readonly string[], void, undefined> => ({
      next: () =>
        new Promise((resolve) => {
          waiting = resolve;
          if (arrived.length > 0 || ended) notify();
        }),
    }),
  };
}

export type FrameQueue = ReturnType<typeof frameQueue>;
