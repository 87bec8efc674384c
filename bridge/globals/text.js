/** Without the East Asian encodings, whose tables would multiply the size of this part. */
export { TextDecoder, TextEncoder } from "@exodus/bytes/encoding-lite.js";
