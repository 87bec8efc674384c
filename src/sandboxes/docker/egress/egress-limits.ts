/** Limits of one container's egress. Times are in milliseconds. */
export const USUAL_EGRESS_LIMITS = {
  /** Bytes in both directions, of all connections together. */
  totalBytes: 64 * 1024 * 1024,
  /** Connections in all; after that many the proxy accepts no more. */
  connections: 1000,
  connectionsAtOnce: 32,
  /** Size of the headers of a request or an answer, and of the first messages of a TLS connection. */
  headerBytes: 16 * 1024,
  /** How long a client may take to send a request's headers. */
  headerMs: 10_000,
  /** How long the look-up of a host may take, and then the connection to it. */
  connectMs: 10_000,
  /** How long a connection may move no bytes. */
  idleMs: 30_000,
  /** How long a connection may last. */
  connectionMs: 300_000,
};

export type EgressLimits = Readonly<typeof USUAL_EGRESS_LIMITS>;
