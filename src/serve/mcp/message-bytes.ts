/** Bytes of one message of a client, on the standard streams and over HTTP. */
export const MESSAGE_BYTES = 4 * 1024 * 1024;
