import { Buffer } from "buffer/";

// The package is older than `base64url`. Its decoder of base64 reads both alphabets.
const from = Buffer.from.bind(Buffer);
const isEncoding = Buffer.isEncoding.bind(Buffer);
// oxlint-disable-next-line typescript/unbound-method -- It is bound to `call`.
const toText = Function.prototype.call.bind(Buffer.prototype.toString);
const isBase64Url = (encoding) => typeof encoding === "string" && encoding.toLowerCase() === "base64url";

Buffer.from = (value, encodingOrOffset, length) =>
  from(value, isBase64Url(encodingOrOffset) ? "base64" : encodingOrOffset, length);
Buffer.isEncoding = (encoding) => isBase64Url(encoding) || isEncoding(encoding);
Buffer.prototype.toString = function (encoding, ...range) {
  if (!isBase64Url(encoding)) return toText(this, encoding, ...range);
  return toText(this, "base64", ...range)
    .replace(/=/g, "")
    .replaceAll("+", "-")
    .replaceAll("/", "_");
};

export { Buffer };
