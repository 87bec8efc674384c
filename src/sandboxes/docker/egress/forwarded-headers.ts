/** What concerns one connection only, and the ways to say where a body ends, which the next connection says for itself. */
const OF_ONE_CONNECTION = new Set(
  "connection keep-alive proxy-connection proxy-authenticate proxy-authorization proxy-authentication-info te trailer transfer-encoding upgrade expect http2-settings".split(
    " ",
  ),
);

/** The headers of a message that are passed on, name and value in turns, as node's parser hands them over. */
export function forwardedHeaders(rawHeaders: readonly string[], besides: readonly string[] = []): string[] {
  const pairs = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [[name.toLowerCase(), name, rawHeaders[index + 1] ?? ""] as const] : [],
  );
  const named = pairs
    .filter(([lower]) => lower === "connection")
    .flatMap(([, , value]) => value.split(",").map((word) => word.trim().toLowerCase()))
    // A client that named these there would leave a body without an end.
    .filter((word) => word !== "content-length" && word !== "host");
  const dropped = new Set([...OF_ONE_CONNECTION, ...named, ...besides]);
  return pairs.flatMap(([lower, name, value]) => (dropped.has(lower) ? [] : [name, value]));
}
