export const OWNER_SECRET = "a-secret-of-24-characters-or-more";
export const LEASE_MS = 1500;
export const RECONCILE_MS = 300;
/** Time of the owner's tools, and how long a worker waits for an owner that is gone. */
export const [TIMEOUT_MS, OWNER_MS] = [1000, 3000];
/** An owner that is stopped for this long has had its time to answer. */
export const STOPPED_MS = TIMEOUT_MS + OWNER_MS + 2000 + 500;
