/** Bytes of the requests and answers of one principal that are not over, and of all. */
const OWN_BYTES = 80 * 1024 * 1024;
const ALL_BYTES = 256 * 1024 * 1024;
/** What a request takes at least. */
const REQUEST_BYTES = 16 * 1024;

/** Counts what requests hold from their beginning until their answers are read: bodies that come slowly, answers that are read slowly. */
export class OpenRequests {
  readonly #own = new Map<string, number>();
  #all = 0;

  /** Whether a principal may take so many bytes where nothing else is taken. */
  static canHold(bytes: number): boolean {
    return bytes + REQUEST_BYTES <= OWN_BYTES;
  }

  /** Takes bytes for a principal until the function that it returns is called; undefined where too many are taken. */
  begin(principal: string, bytes: number): (() => void) | undefined {
    const taken = bytes + REQUEST_BYTES;
    const own = (this.#own.get(principal) ?? 0) + taken;
    // One has no more than it leaves to all others: however many take what they can, the next one finds some.
    if (own > Math.min(OWN_BYTES, ALL_BYTES - this.#all - taken)) return undefined;
    this.#add(principal, taken);
    let isOver = false;
    return () => {
      if (!isOver) this.#add(principal, -taken);
      isOver = true;
    };
  }

  #add(principal: string, bytes: number): void {
    const own = (this.#own.get(principal) ?? 0) + bytes;
    if (own === 0) this.#own.delete(principal);
    else this.#own.set(principal, own);
    this.#all += bytes;
  }
}
