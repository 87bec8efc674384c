/** What commands show while they work. A question that is open has the screen for itself. */
export class Screen {
  #isTaken = false;
  #waiting: (() => void)[] = [];

  /** Runs `write` now, or when no question is open any more, in the order of the calls. */
  show(write: () => void): void {
    if (this.#isTaken) this.#waiting.push(write);
    else write();
  }

  /** Takes the screen until the returned object is disposed. One question is open at a time. */
  take(): Disposable {
    this.#isTaken = true;
    return {
      [Symbol.dispose]: () => {
        this.#isTaken = false;
        for (const write of this.#waiting.splice(0)) write();
      },
    };
  }
}
