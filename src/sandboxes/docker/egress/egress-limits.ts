const MIB = 1024 * 1024;

/** What one container may take of the way out. */
export interface EgressLimits {
  /** Both ways, all connections together. */
  readonly totalBytes: number;
  /** Connections that are told of; after that many the way out is closed. */
  readonly connections: number;
  readonly connectionsAtOnce: number;
  /** Of a request's or an answer's headers, and of the beginning of a TLS connection. */
  readonly headerBytes: number;
  /** How long a client may take to say what it wants, in milliseconds; a host's name to be found, and the host to be reached. */
  readonly headerMs: number;
  readonly connectMs: number;
  /** How long a connection may be silent, and how long it may last. */
  readonly idleMs: number;
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
