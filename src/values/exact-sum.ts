/** A sum of decimal numbers without rounding: 0.1 + 0.2 is 0.3, as people who allow sums of money expect. */
export class ExactSum {
  #digits = 0n;
  /** The sum is `#digits` times ten to this power. */
  #power = 0;

  /** `amount` is finite. It counts as the shortest decimal number that reads as it, as JSON writes it. */
  add(amount: number): this {
    const { digits, power } = decimalOf(amount);
    const least = Math.min(power, this.#power);
    this.#digits = this.#digits * scale(this.#power - least) + digits * scale(power - least);
    this.#power = least;
    return this;
  }

  /** Whether the sum with this amount is at most `limit`. */
  fits(amount: number, limit: number): boolean {
    return new ExactSum().#plus(this).add(amount).add(-limit).#digits <= 0n;
  }

  /** What is left up to `limit`. */
  leftOf(limit: number): number {
    const left = new ExactSum().#plus(this).add(-limit);
    return 0 - Number(`${left.#digits}e${left.#power}`);
  }

  #plus(other: ExactSum): this {
    this.#digits = other.#digits;
    this.#power = other.#power;
    return this;
  }
}

function decimalOf(amount: number): { readonly digits: bigint; readonly power: number } {
  const [, sign = "", whole = "0", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(amount)) ?? [];
  return { digits: BigInt(`${sign}${whole}${fraction}`), power: Number(exponent) - fraction.length };
}

function scale(power: number): bigint {
  return 10n ** BigInt(power);
}
