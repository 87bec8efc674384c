import * as fc from "fast-check";
import { expect, test } from "vitest";
import { attachedStream } from "../../../../src/sandboxes/docker/container/container-guest.ts";

function part(output: 1 | 2, text: string): Buffer {
  const bytes = Buffer.from(text);
  const header = Buffer.from([output, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
}

test("both output streams arrive unchanged, however the connection splits them", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(1 as const, 2 as const), fc.string({ maxLength: 40 }))),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
      (parts, cuts) => {
        const heard = { 1: "", 2: "" };
        const push = attachedStream(
          (chunk) => (heard[1] += chunk.toString("latin1")),
          (chunk) => (heard[2] += chunk.toString("latin1")),
        );
        const bytes = Buffer.concat(parts.map(([output, text]) => part(output, text)));
        for (let start = 0, cut = 0; start < bytes.length; cut += 1) {
          const length = cuts[cut % cuts.length] ?? 1;
          push(bytes.subarray(start, start + length));
          start += length;
        }
        const sent = (wanted: 1 | 2) =>
          parts.flatMap(([output, text]) => (output === wanted ? [Buffer.from(text).toString("latin1")] : [])).join("");
        expect(heard).toEqual({ 1: sent(1), 2: sent(2) });
      },
    ),
  );
});
