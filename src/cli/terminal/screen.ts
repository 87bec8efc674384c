/** What commands show while they work. A question that is open has the screen for itself. */
export interface Screen {
  /** Whether a question is open. Lines that show progress are left out meanwhile. */
  readonly isTaken: boolean;
  /** Runs `write` now, or when no question is open any more, in the order of the calls. */
  readonly show: (write: () => void) => void;
  /** Takes the screen until the returned object is disposed. One question is open at a time. */
  readonly take: () => Disposable;
}

export function createScreen(): Screen {
  let isTaken = false;
  let waiting: (() => void)[] = [];
  return {
    get isTaken() {
      return isTaken;
    },
    show(write) {
      if (isTaken) waiting.push(write);
      else write();
    },
    take() {
      isTaken = true;
      return {
        [Symbol.dispose]() {
          isTaken = false;
          const writes = waiting;
          waiting = [];
          for (const write of writes) write();
        },
      };
    },
  };
}
