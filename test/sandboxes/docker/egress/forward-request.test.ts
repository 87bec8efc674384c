import { expect, test } from "vitest";
import { forwardedHeaders } from "../../../../src/sandboxes/docker/egress/forward-request.ts";

test("hop-by-hop headers are removed, with those that Connection names", () => {
  const headers =
    "Accept|*/*|Connection|close, X-Own|X-Own|1|Proxy-Authorization|word|TE|trailers|Upgrade|h2c|Set-Cookie|a|Set-Cookie|b";
  expect(forwardedHeaders(headers.split("|"))).toEqual(["Accept", "*/*", "Set-Cookie", "a", "Set-Cookie", "b"]);
});

test("Connection cannot remove the length of a body", () => {
  expect(forwardedHeaders(["Connection", "Content-Length", "Content-Length", "3"])).toEqual(["Content-Length", "3"]);
});

test("further headers can be removed", () => {
  expect(forwardedHeaders(["HOST", "a", "X", "b"], ["host"])).toEqual(["X", "b"]);
});
