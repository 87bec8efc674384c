const MIB = 1024 * 1024;

/** Limits of one container's egress. */
export interface EgressLimits {
  /** Bytes in both directions, of all connections together. */
  readonly totalBytes: number;
  /** Connections in all; after that many the proxy accepts no more. */
  readonly connections: number;
  readonly connectionsAtOnce: number;
  /** Size of the headers of a request or an answer, and of the first messages of a TLS connection. */
  readonly headerBytes: number;
  /** How long a client may take to send a request's headers, in milliseconds. */
  readonly headerMs: number;
  /** How long the look-up of a host may take, and then the connection to it, in milliseconds each. */
  readonly connectMs: number;
  /** How long a connection may move no bytes, in milliseconds. */
  readonly idleMs: number;
  /** How long a connection may last, in milliseconds. */
  readonly connectionMs: number;
}

export const USUAL_EGRESS_LIMITS: EgressLimits = {
  totalBytes: 64 * MIB,
  connections: 1000,
  connectionsAtOnce: 32,
  headerBytes: 16 * 1024,
  headerMs: 10_000,
  connectMs: 10_000,
  idleMs: 30_000,
  connectionMs: 300_000,
};
