/** Of the server in `fixtures/dying-server.ts`. */
export const DYING_TOKEN = "a-token-for-this-test";
export const LEASE_MS = 300;
