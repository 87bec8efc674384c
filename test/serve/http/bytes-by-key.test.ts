import { expect, test } from "vitest";
import { BytesByKey } from "../../../src/serve/http/bytes-by-key.ts";

const MIB = 1024 * 1024;

test.each([1, 2, 4, 7])("however much %i principals hold, the next one can make a request", (greedy) => {
  const open = new BytesByKey();
  for (let principal = 0; principal < greedy; principal += 1)
    for (let n = 0; n < 10_000 && open.begin(`greedy-${principal}`, 64 * 1024); n += 1);
  expect(open.begin("greedy-0", MIB)).toBeUndefined();
  expect(open.begin("modest", MIB / 2)).toBeTypeOf("function");
});
