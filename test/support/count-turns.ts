/** Counts the turns that the event loop of this thread takes, until it is asked how many there were. */
export function countTurns(): () => number {
  let turns = 0;
  let next = setImmediate(function count() {
    turns += 1;
    next = setImmediate(count);
  });
  return () => {
    clearImmediate(next);
    return turns;
  };
}
