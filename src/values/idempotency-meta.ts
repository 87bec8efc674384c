/** Field of `_meta` in which a client of MCP says what a call and its repetitions have in common. */
export const IDEMPOTENCY_META = "portcullis/idempotencyKey";
