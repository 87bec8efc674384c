/**
 * The reason that counts for a streamed reply with several reasons: a reason that says that the reply is not whole, and
 * otherwise the last. Some servers send empty reasons before.
 */
export function decisiveReason(
  before: string | undefined,
  next: string | undefined,
  wholeReasons: ReadonlySet<string>,
): string | undefined {
  if (before !== undefined && !wholeReasons.has(before)) return before;
  return next === undefined || next === "" ? before : next;
}
