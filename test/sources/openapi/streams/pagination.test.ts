import { describe, expect, test } from "vitest";
import { isPagination, nextLink } from "../../../../src/sources/openapi/streams/pagination.ts";

describe("the address of the next page in a header Link", () => {
  test.each<readonly [string, string | undefined]>([
    [
      '<https://a.example/x?page=2>; rel="next", <https://a.example/x?page=9>; rel="last"',
      "https://a.example/x?page=2",
    ],
    ['<https://a.example/x?page=1>; rel="prev first",</x?page=3,4>;rel="last next"', "/x?page=3,4"],
    ["<?page=2>; rel=next", "?page=2"],
    ['<?page=1>; title="a, <b>; rel=next"; rel=prev, <?page=2>; REL = "Next"', "?page=2"],
    ['<?page=1>; title="\\", <?evil>; rel=next"; rel=prev', undefined],
    ['<?page=2>; rel="nextpage"', undefined],
    ["<?page=2", undefined],
    ["", undefined],
  ])("%s", (header, address) => {
    expect(nextLink(header)).toBe(address);
  });

  test("of the longest header that Node reads, without an end", () => {
    expect(nextLink("<".repeat(16_000))).toBeUndefined();
    expect(nextLink('<a>;rel="'.repeat(2000))).toBeUndefined();
  });
});

test.each<readonly [unknown, boolean]>([
  [{ next: { link: true } }, true],
  [{ items: "/data", next: { cursor: "/next", param: "cursor" } }, true],
  [{ items: "", next: { cursor: "/next" } }, true],
  [{ items: undefined, next: { page: "page" } }, true],
  [{ next: { link: false } }, false],
  [{ next: { link: true, page: "page" } }, false],
  [{ next: { cursor: "next", param: "cursor" } }, false],
  [{ next: { cursor: "", param: "cursor" } }, false],
  [{ next: { cursor: "/next", param: "" } }, false],
  [{ next: { cursor: "/next", parameter: "cursor" } }, false],
  [{ next: {} }, false],
  [{ next: { page: 1 } }, false],
  [{ items: "data", next: { page: "page" } }, false],
  [{ item: "/data", next: { page: "page" } }, false],
  [{}, false],
  [{ next: "link" }, false],
  [[], false],
  [null, false],
])("a policy says %j to make a stream of pages: %j", (given, isOne) => {
  expect(isPagination(given)).toBe(isOne);
});
