import { expect, test } from "vitest";
import { SYNONYM_GROUPS } from "../../../src/tools/search/synonym-groups.ts";
import { synonymsOf } from "../../../src/tools/search/tool-index.ts";
import { stem, wordsOf } from "../../../src/tools/search/words.ts";

const lines = SYNONYM_GROUPS.trim().split("\n");

test("each line of synonyms has words that count on both sides, and stands once", () => {
  const broken = lines.filter((line) => !/^[a-z]+(?:-[a-z]+)*(?: (?:> )?[a-z]+(?:-[a-z]+)*)+$/.test(line));
  const empty = lines.filter((line) => line.split(/ (?:> )?/).some((word) => wordsOf(word).length === 0));
  expect({ broken, empty, twice: lines.filter((line, place) => lines.indexOf(line) !== place) }).toEqual({
    broken: [],
    empty: [],
    twice: [],
  });
});

test("after a > are synonyms of the words before it, and not the other way round", () => {
  expect(synonymsOf(stem("voucher")).has(stem("coupon"))).toBe(true);
  expect(synonymsOf(stem("boss")).has(stem("member"))).toBe(true);
  expect(synonymsOf(stem("member")).has(stem("boss"))).toBe(false);
  expect(synonymsOf("pull request").has("pr")).toBe(true);
});
