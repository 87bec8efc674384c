/** Names that are sorted at once, and steps of a merge between two pauses. */
const RUN = 500;

/**
 * Names in the order of their UTF-16 code units. A folder may have hundreds of thousands, which take seconds to sort if they
 * begin alike: `pause` is awaited again and again, and may give the thread to others.
 */
export async function sortedNames(names: readonly string[], pause: () => Promise<void>): Promise<readonly string[]> {
  let runs: (readonly string[])[] = [];
  for (let from = 0; from < names.length; from += RUN) {
    runs.push(names.slice(from, from + RUN).toSorted());
    await pause();
  }
  while (runs.length > 1) {
    const merged: (readonly string[])[] = [];
    for (let at = 0; at < runs.length; at += 2)
      merged.push(await mergedRuns(runs[at] ?? [], runs[at + 1] ?? [], pause));
    runs = merged;
  }
  return runs[0] ?? [];
}

async function mergedRuns(
  one: readonly string[],
  other: readonly string[],
  pause: () => Promise<void>,
): Promise<readonly string[]> {
  if (other.length === 0) return one;
  const merged: string[] = [];
  for (let [left, right] = [0, 0]; merged.length < one.length + other.length;) {
    const [a, b] = [one[left], other[right]];
    if (a !== undefined && (b === undefined || a <= b)) {
      merged.push(a);
      left += 1;
    } else if (b !== undefined) {
      merged.push(b);
      right += 1;
    }
    if (merged.length % RUN === 0) await pause();
  }
  return merged;
}
