import leven from "leven";

/** The known names most similar to a name that was not found, the best first. Leaves out names that are too different. */
export function nearest(name: string, known: readonly string[], max = 3): string[] {
  const wanted = name.slice(0, 128).toLowerCase();
  return known
    .map((candidate) => ({ candidate, distance: distance(wanted, candidate.toLowerCase()) }))
    .filter(({ distance: far }) => far !== undefined)
    .toSorted((a, b) => (a.distance ?? 0) - (b.distance ?? 0) || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, max)
    .map(({ candidate }) => candidate);
}

/** A sentence with the known name that was probably meant, to stand after another; empty if none is similar. */
export function didYouMean(name: string, known: readonly string[]): string {
  const [meant] = nearest(name, known, 1);
  return meant === undefined ? "" : ` Did you mean ${meant}?`;
}

/** Edits from the wanted name to a candidate: of the whole name, or of the last part. A substring counts as 1.2 edits. Undefined if too many. */
function distance(wanted: string, candidate: string): number | undefined {
  const distances = [editsIfNear(wanted, candidate), editsIfNear(lastPart(wanted), lastPart(candidate), 0.5)];
  if (wanted.length >= 3 && candidate.includes(wanted)) distances.push(1.2);
  return distances.filter((one) => one !== undefined).toSorted((a, b) => a - b)[0];
}

function editsIfNear(wanted: string, candidate: string, penalty = 0): number | undefined {
  const edits = areSwapped(wanted, candidate) ? 1 : leven(wanted, candidate);
  return edits <= Math.max(1, wanted.length / 3) ? edits + penalty : undefined;
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
