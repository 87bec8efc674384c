import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  canonicalHostName,
  isAllowed,
  parseAllowList,
} from "../../../../../src/sandboxes/docker/egress/names/allow-list.ts";
import {
  parseAbsoluteTarget,
  parseAuthority,
  type Target,
} from "../../../../../src/sandboxes/docker/egress/request-target.ts";

const list = parseAllowList("hosts", ["allowed.test", "*.below.test", "own.test:8443"]);
const reaches = (target: Target | undefined) => target !== undefined && isAllowed(list, target.host, target.port);

test.each([
  ["allowed.test:443", true],
  ["allowed.test:80", true],
  ["ALLOWED.Test:443", true],
  ["allowed.test:8443", false],
  ["a.below.test:443", true],
  ["a.b.below.test:443", true],
  ["below.test:443", false],
  ["notbelow.test:443", false],
  ["own.test:8443", true],
  ["own.test:443", false],
  ["sub.allowed.test:443", false],
  ["allowed.test.evil.test:443", false],
])("whether %s may be reached", (authority, allowed) => {
  expect(reaches(parseAuthority(authority))).toBe(allowed);
});

const NO_NAMES = [
  "",
  "allowed.test\0",
  "allowed.test\0.evil.test",
  "allowed.test ",
  " allowed.test",
  "allowed.test\t",
  "allowed.test\r\nhost",
  "a\u00ADllowed.test",
  "\u212A.test",
  "\u017F.test",
  `${"a".repeat(64)}.test`,
  `${"a.".repeat(126)}test`,
  ...String.raw`. allowed.test. .allowed.test allowed..test -a.test a-.test allowed。test allowed．test ａllowed.test allöwed.test
user@allowed.test evil.test@allowed.test allowed.test@evil.test allowed.test#.evil.test allowed.test/.evil.test
allowed.test\.evil.test allowed.test%2eevil.test allowed%2etest 127.0.0.1 127.1 2130706433 0177.0.0.1 0x7f.0.0.1 0x7f000001
0x 127.0.0.0x1 ::1 [::1] [::ffff:127.0.0.1] ::ffff:7f00:1 [allowed.test]`.split(/\s/),
];

test.each(NO_NAMES)("%j is no host name", (text) => {
  expect(canonicalHostName(text)).toBeUndefined();
  expect(parseAuthority(`${text}:443`)).toBeUndefined();
  expect(parseAbsoluteTarget(`http://${text}/`) === undefined || text.includes("/") || text.includes("#")).toBe(true);
  expect(() => parseAllowList("hosts", [text])).toThrow(/^hosts\[0\]: expected /);
});

test.each([
  "allowed.test",
  "allowed.test: 443",
  ...": :0 :00443 :65536 :443:443 :+443 :0x1bb :443/".split(" ").map((port) => `allowed.test${port}`),
])("a tunnel to %j is not made", (text) => {
  expect(parseAuthority(text)).toBeUndefined();
});

test.each([
  ["http://allowed.test", { host: "allowed.test", port: 80, path: "/" }],
  ["HTTP://Allowed.Test/A?b=c", { host: "allowed.test", port: 80, path: "/A?b=c" }],
  ["http://allowed.test:8080?b", { host: "allowed.test", port: 8080, path: "/?b" }],
  ["http://allowed.test/http://evil.test/", { host: "allowed.test", port: 80, path: "/http://evil.test/" }],
  ["https://allowed.test/", undefined],
  ["ftp://allowed.test/", undefined],
  ["//allowed.test/", undefined],
  ["/path", undefined],
  ["*", undefined],
  ["allowed.test:80", undefined],
  ["http:allowed.test/", undefined],
  ["http:///allowed.test/", undefined],
  ["http:\\\\allowed.test/", undefined],
  ["http://allowed.test/#part", undefined],
  ["http://allowed.test/ HTTP/1.1", undefined],
  ["http://allowed.test/é", undefined],
  ["http://user:word@allowed.test/", undefined],
])("the target in the request line %j", (text, target) => {
  expect(parseAbsoluteTarget(text)).toEqual(target);
});

test("a host is either equal to one of the list or refused, however it is written", () => {
  const words = String.raw`allowed.test evil.test below.test a . @ : / # \ [ ] %2e 。 443 80 0x7f 127.0.0.1 - *`.split(
    " ",
  );
  const piece = fc.constantFrom(...words, "\0", " ");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
      const target = parseAuthority(pieces.join(""), 443);
      if (!reaches(target)) return;
      expect(target?.host).toMatch(/^(?:allowed\.test|(?:[a-z0-9][a-z0-9.-]*)\.below\.test)$/);
      // Another reader of the same text comes to the same host.
      expect(new URL(`https://${pieces.join("")}/`).hostname).toBe(target?.host);
    }),
  );
});

test("what node itself reads as an address is never a name", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.ipV4(), fc.ipV4Extended(), fc.ipV6(), fc.nat({ max: 0xff_ff_ff_ff }).map(String)),
      (address) => {
        expect(canonicalHostName(address)).toBeUndefined();
      },
    ),
  );
});

test.each([
  [
    [],
    'hosts: expected a list of 1 to 1000 host names, as "api.example.com", "*.example.com" or "api.example.com:8443", got [].',
  ],
  ["allowed.test", /^hosts: expected a list of 1 to 1000 host names/],
  [[1], /^hosts\[0\]: expected one of host names/],
  [["https://allowed.test"], /^hosts\[0\]: expected a host name in ASCII/],
  [["allowed.test/path"], /^hosts\[0\]: expected a host name in ASCII/],
  [["allowed.test", "10.0.0.1"], /^hosts\[1\]: expected a host name in ASCII .*, got "10.0.0.1"\.$/],
  [["*"], /^hosts\[0\]: expected a host name in ASCII/],
  [["*.test"], 'hosts[0]: expected two names or more after the *, got "*.test".'],
  [["a.*.test"], /^hosts\[0\]: expected a host name in ASCII/],
  [["allowed.test:0"], 'hosts[0]: expected a port from 1 to 65535 after the colon, got "allowed.test:0".'],
])("a list like %j is refused in a sentence", (hosts, sentence) => {
  expect(() => parseAllowList("hosts", hosts)).toThrow(sentence);
});
