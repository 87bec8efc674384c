/** Maximum of bytes of open requests and answers, of one principal and of all. */
const OWN_BYTES = 80 * 1024 * 1024;
const ALL_BYTES = 256 * 1024 * 1024;
/** Bytes that each request counts at least. */
const REQUEST_BYTES = 16 * 1024;

/**
 * Counts the bytes that requests hold from their beginning until their answers are read: slow bodies, slowly read
 * answers.
 */
export class OpenRequests {
  readonly #own = new Map<string, number>();
  #all = 0;

  /** Whether a principal could take this many bytes if nothing else were taken. */
  static canHold(bytes: number): boolean {
    return bytes + REQUEST_BYTES <= OWN_BYTES;
  }

  /** Takes bytes for a principal. Returns the function that releases them; undefined where too many are taken. */
  begin(principal: string, bytes: number): (() => void) | undefined {
    const taken = bytes + REQUEST_BYTES;
    const own = (this.#own.get(principal) ?? 0) + taken;
    // A principal holds no more than it leaves free, so that the next principal always finds some.
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
