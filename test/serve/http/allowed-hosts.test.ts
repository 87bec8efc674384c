import { expect, test } from "vitest";
import { allowedHosts, hostNameOf, isLoopback, isOwnOrigin } from "../../../src/serve/http/allowed-hosts.ts";

test.each([
  ["127.0.0.1", true],
  ["127.9.9.9", true],
  ["::1", true],
  ["localhost", true],
  ["0.0.0.0", false],
  ["127.0.0.1.evil.test", false],
  ["localhost.evil.test", false],
])("%s is reached from this machine only: %s", (host, loopback) => {
  expect(isLoopback(host)).toBe(loopback);
});

test("a door on this machine is addressed by the names of loopback and those that are given, without their ports", () => {
  expect(allowedHosts("127.0.0.1", ["Door.test:8443", "fe80::1"])).toEqual(
    new Set(["localhost", "127.0.0.1", "[::1]", "door.test", "[fe80::1]"]),
  );
});

test.each([
  ["Door.test:8443", "door.test"],
  ["[::1]:80", "[::1]"],
  ["door.test@evil.test", undefined],
  ["door.test/path", undefined],
  ["door.test:", undefined],
  ["", undefined],
  [null, undefined],
])("the host of %j is %j", (header, name) => {
  expect(hostNameOf(header)).toBe(name);
});

test.each([
  ["http://door.test:8080", "door.test:8080", true],
  ["http://door.test", "DOOR.test:80", true],
  ["https://door.test:443", "door.test", true],
  ["http://door.test:8081", "door.test:8080", false],
  ["https://proxy.test", "door.test:8080", true],
  ["https://proxy.test:8443", "door.test:8080", false],
  ["null", "door.test", false],
  ["file://door.test", "door.test", false],
])("an origin %s at the host %s is the door's own: %s", (origin, host, own) => {
  expect(isOwnOrigin(origin, host, new Set(["proxy.test"]))).toBe(own);
});
