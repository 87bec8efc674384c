/**
 * The reason by which a streamed reply has ended that gives several. One that says that it is not whole counts, whatever
 * comes before or after it; of others the last. Some servers give empty ones until there is one.
 */
export function decisiveReason(
  before: string | undefined,
  next: string | undefined,
  wholeReasons: ReadonlySet<string>,
): string | undefined {
  if (before !== undefined && !wholeReasons.has(before)) return before;
  return next === undefined || next === "" ? before : next;
}
