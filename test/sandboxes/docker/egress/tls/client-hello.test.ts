import * as fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { readServerName } from "../../../../../src/sandboxes/docker/egress/tls/client-hello.ts";
import { firstBytes } from "./first-bytes.ts";

let hello: Buffer;

beforeAll(async () => {
  hello = await firstBytes("allowed.test");
});

/** The same message, cut into records of so many bytes. */
function inRecords(bytes: Buffer, length: number): Buffer {
  const message = bytes.subarray(5);
  const records: Buffer[] = [];
  for (let offset = 0; offset < message.length; offset += length) {
    const part = message.subarray(offset, offset + length);
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part);
  }
  return Buffer.concat(records);
}

test("the name that TLS asks for is found", () => {
  expect(readServerName(hello)).toEqual({ type: "named", name: "allowed.test", endsAt: hello.length });
  const more = Buffer.concat([hello, hello]);
  expect(readServerName(more)).toEqual({ type: "named", name: "allowed.test", endsAt: hello.length });
});

test("the name is found if the hello is spread over records", () => {
  for (const length of [1, 2, 3, 5, 100])
    expect(readServerName(inRecords(hello, length))).toMatchObject({ type: "named", name: "allowed.test" });
});

test("an incomplete hello has no name yet", () => {
  for (let length = 0; length < hello.length; length += 1)
    expect(readServerName(hello.subarray(0, length))).toEqual({ type: "incomplete" });
});

test("a hello without a server name is refused", async () => {
  expect(readServerName(await firstBytes(""))).toEqual({ type: "unnamed" });
});

test("a hello with an encrypted name is refused", () => {
  const at = hello.indexOf("allowed.test");
  // Of the extension that follows the name's, the type.
  const encrypted = Buffer.from(hello);
  encrypted.writeUInt16BE(0xfe_0d, at + "allowed.test".length);
  expect(readServerName(encrypted)).toEqual({ type: "unnamed" });
});

test("a hello with two names is refused", () => {
  const at = hello.indexOf("allowed.test");
  const extension = hello.subarray(at - 9, at + 12);
  const twice = Buffer.concat([hello.subarray(0, at - 9), extension, hello.subarray(at - 9)]);
  const grown = extension.length;
  twice.writeUInt16BE(hello.readUInt16BE(3) + grown, 3);
  twice.writeUIntBE(hello.readUIntBE(6, 3) + grown, 6, 3);
  twice.writeUInt16BE(hello.readUInt16BE(at - 11) + grown, at - 11);
  expect(readServerName(twice)).toEqual({ type: "unnamed" });
});

test("any bytes give a result", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(), fc.nat(255))), fc.nat(), (changes, length) => {
      const bytes = Buffer.from(hello.subarray(0, length % (hello.length + 1)));
      for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value;
      expect(["incomplete", "named", "unnamed"]).toContain(readServerName(bytes).type);
    }),
  );
});
