import { expect, test } from "vitest";
import { forwardedHeaders } from "../../../../src/sandboxes/docker/egress/forwarded-headers.ts";

test("headers of one connection are left out, with those that it names", () => {
  const headers =
    "Accept|*/*|Connection|close, X-Own|X-Own|1|Proxy-Authorization|word|TE|trailers|Upgrade|h2c|Set-Cookie|a|Set-Cookie|b";
  expect(forwardedHeaders(headers.split("|"))).toEqual(["Accept", "*/*", "Set-Cookie", "a", "Set-Cookie", "b"]);
});

test("how long a body is cannot be left out by naming it there", () => {
  expect(forwardedHeaders(["Connection", "Content-Length", "Content-Length", "3"])).toEqual(["Content-Length", "3"]);
});

test("others can be left out besides", () => {
  expect(forwardedHeaders(["HOST", "a", "X", "b"], ["host"])).toEqual(["X", "b"]);
});
