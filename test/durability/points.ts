/**
 * Moments at which a driver can die, before and after each: what it does with the journal, by the type of the record,
 * and what a handler does. They cover the rows of the table in docs/durability.md.
 */
const MOMENTS = "create claim hand turn call decision result answered outcome renew read effect".split(" ");

export const POINTS: readonly string[] = MOMENTS.flatMap((moment) => [`before ${moment}`, `after ${moment}`]);

/** Kills this process at the nth time that it comes to a point, like `after call 12`; never for an empty text. */
export class KillPoint {
  readonly #when: string;
  readonly #moment: string;
  #left: number;

  constructor(text: string) {
    const [when = "", moment = "", nth = "0"] = text.split(" ");
    this.#when = when;
    this.#moment = moment;
    this.#left = Number(nth);
  }

  /** Runs what is done at these moments, and kills this process before or after it. */
  async at<Value>(moments: readonly string[], run: () => Value | Promise<Value>): Promise<Value> {
    const isPoint = moments.includes(this.#moment) && (this.#left -= 1) === 0;
    if (isPoint && this.#when === "before") process.kill(process.pid, "SIGKILL");
    const value = await run();
    if (isPoint) process.kill(process.pid, "SIGKILL");
    return value;
  }
}
