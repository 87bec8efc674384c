import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ByteList } from "../../../src/base/index.ts";

test("bytes come out as they went in, however they were cut, and the list is empty then", () => {
  const list = new ByteList();
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200_000 }), { maxLength: 8 }), fc.uint8Array(), (parts, last) => {
      for (const part of parts) list.add(part);
      expect(list.bytes).toBe(parts.reduce((sum, { length }) => sum + length, 0));
      expect(list.take(last).equals(Buffer.concat([...parts, last]))).toBe(true);
      expect(list.bytes).toBe(0);
    }),
  );
});

test("what is added is copied: its buffer may be used again", () => {
  const list = new ByteList();
  const part = Buffer.from("before");
  list.add(part);
  part.fill("x");
  expect(String(list.take())).toBe("before");
});
