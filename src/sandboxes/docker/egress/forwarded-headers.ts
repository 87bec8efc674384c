/** Headers of one connection only, and transfer codings, which the proxy sets anew for the next connection. */
const OF_ONE_CONNECTION = new Set(
  "connection keep-alive proxy-connection proxy-authenticate proxy-authorization proxy-authentication-info te trailer transfer-encoding upgrade expect http2-settings".split(
    " ",
  ),
);

/** The headers of a message that are forwarded, as a list of alternating names and values, like node's `rawHeaders`. */
export function forwardedHeaders(rawHeaders: readonly string[], besides: readonly string[] = []): string[] {
  const pairs = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [[name.toLowerCase(), name, rawHeaders[index + 1] ?? ""] as const] : [],
  );
  const named = pairs
    .filter(([lower]) => lower === "connection")
    .flatMap(([, , value]) => value.split(",").map((word) => word.trim().toLowerCase()))
    // Dropping one of these at a client's request would leave the body without an end, or the request without a host.
    .filter((word) => word !== "content-length" && word !== "host");
  const dropped = new Set([...OF_ONE_CONNECTION, ...named, ...besides]);
  return pairs.flatMap(([lower, name, value]) => (dropped.has(lower) ? [] : [name, value]));
}
