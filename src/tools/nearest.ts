import leven from "leven";

/** The names most like a name that was not found, the best first; only those near enough to be meant. */
export function nearest(name: string, known: readonly string[], most = 3): string[] {
  const wanted = name.slice(0, 128).toLowerCase();
  return known
    .map((candidate) => ({ candidate, distance: distance(wanted, candidate.toLowerCase()) }))
    .filter(({ distance: far }) => far <= Math.max(2, wanted.length / 3))
    .toSorted((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, most)
    .map(({ candidate }) => candidate);
}

/** Edits between two names, in whole or in their last parts: `listInvoices` is near `billing.listInvoices`. */
function distance(wanted: string, candidate: string): number {
  return Math.min(leven(wanted, candidate), leven(lastPart(wanted), lastPart(candidate)) + 0.5);
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}
