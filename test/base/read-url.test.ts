import * as fc from "fast-check";
import { expect, test } from "vitest";
import { readUrl } from "../../src/base/index.ts";

const HOST = String.fromCodePoint(...Array.from({ length: 4000 }, (_, index) => 0x4e00 + index));

test.each(["http://", "http:", "https:/\t/\n", " http:////", "http:\\\\", "ht\ttp://ann:pw@", "wss://"])(
  "a host beyond ASCII that no domain name is as long as is given to no parser, behind %j, nor one in percent escapes",
  (before) => {
    for (const host of [HOST, encodeURIComponent(HOST)]) expect(readUrl(`${before}${host}/`)).toBeUndefined();
  },
);

test("long paths, queries and fragments are read, and any other text as URL reads it", () => {
  for (const between of ["/", "?", "#", "\\"])
    expect(readUrl(`https://example.com${between}${HOST}`)?.host).toBe("example.com");
  fc.assert(
    fc.property(fc.oneof(fc.webUrl({ withFragments: true, withQueryParameters: true }), fc.string()), (text) => {
      expect(readUrl(text)?.href).toBe(URL.parse(text)?.href);
    }),
  );
});
