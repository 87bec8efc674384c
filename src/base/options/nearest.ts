import leven from "leven";

/** Characters of the name times those of all known names, up to which they are compared: about a millisecond. */
const MOST_WORK = 250_000;

/**
 * The known names most similar to a name that was not found, the best first. Leaves out names that are too different.
 * Empty where the comparison would hold up the thread.
 */
export function nearest(name: string, candidates: readonly string[], max = 3): string[] {
  const wanted = name.slice(0, 128).toLowerCase();
  const characters = candidates.reduce((sum, { length }) => sum + length, 0);
  if (wanted.length * characters > MOST_WORK) return [];
  return candidates
    .map((candidate) => ({ candidate, distance: distance(wanted, candidate.toLowerCase()) }))
    .filter(({ distance: far }) => far !== undefined)
    .toSorted((a, b) => (a.distance ?? 0) - (b.distance ?? 0) || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, max)
    .map(({ candidate }) => candidate);
}

/** Whether hardly a letter of a name, or of its last part, is another than that of a known name. */
export function isSlip(name: string, candidate: string): boolean {
  const part = (one: string) => lastPart(one).slice(0, 128).toLowerCase();
  return edits(part(name), part(candidate), 1) <= 1;
}

/** A sentence with the known name that was probably meant, to stand after another; empty if none is similar. */
export function didYouMean(name: string, candidates: readonly string[]): string {
  const [meant] = nearest(name, candidates, 1);
  return meant === undefined ? "" : ` Did you mean ${meant}?`;
}

/** The end of a sentence about a name: with the known name that was probably meant, if one is similar. */
export function orMeant(name: string, candidates: readonly string[]): string {
  const [meant] = nearest(name, candidates, 1);
  return meant === undefined ? "." : `, did you mean ${meant}?`;
}

/** Edits from the wanted name to a candidate: of the whole name, or of the last part. A substring counts as 1.2 edits. Undefined if too many. */
function distance(wanted: string, candidate: string): number | undefined {
  const distances = [editsIfNear(wanted, candidate), editsIfNear(lastPart(wanted), lastPart(candidate), 0.5)];
  if (wanted.length >= 3 && candidate.includes(wanted)) distances.push(1.2);
  return distances.filter((one) => one !== undefined).toSorted((a, b) => a - b)[0];
}

function editsIfNear(wanted: string, candidate: string, penalty = 0): number | undefined {
  const most = Math.max(1, Math.floor(wanted.length / 3));
  const count = edits(wanted, candidate, most);
  return count <= most ? count + penalty : undefined;
}

/** Edits from one name to another, counted up to one more than asked for. */
function edits(one: string, other: string, most: number): number {
  return areSwapped(one, other) ? 1 : leven(one, other, { maxDistance: most + 1 });
}

/** Whether two neighbouring characters in the other order are the only difference. */
function areSwapped(one: string, other: string): boolean {
  const at = one.split("").findIndex((character, index) => character !== other[index]);
  if (at < 0 || one.length !== other.length) return false;
  return one[at] === other[at + 1] && one[at + 1] === other[at] && one.slice(at + 2) === other.slice(at + 2);
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}
