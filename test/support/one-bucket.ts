/** The number that V8 gives this hash: numbers whose hashes end alike stand in one place of a map. */
export function numberOfHash(hash: number): number {
  const unshift = (of: number, by: number) => {
    let found = of;
    for (let n = 0; n < 32; n += by) found = of ^ (found >>> by);
    return found;
  };
  let key = Math.imul(unshift(hash, 16), 0xc8de0639);
  key = Math.imul(unshift(key, 4), 0xcccccccd);
  return Math.imul(unshift(key, 12) + 1, 0xbfff7fff) >>> 0;
}

/** Whole numbers of at most 31 bits whose hashes end alike: V8 has no seed for them. */
export function numbersOfOneBucket(count: number): readonly number[] {
  const found: number[] = [];
  for (let n = 0; found.length < count; n += 1) {
    const number = numberOfHash(n << 15);
    if (number < 2 ** 31) found.push(number);
  }
  return found;
}
