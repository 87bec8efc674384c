/** What a door that listens grants its clients, in connections and milliseconds. */
export const BOUNDS = {
  connections: 4096,
  headersMs: 15_000,
  requestMs: 60_000,
  idleMs: 60_000,
} as const;
