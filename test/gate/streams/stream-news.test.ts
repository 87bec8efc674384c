import { expect, test } from "vitest";
import { NEWS_MS, StreamNews } from "../../../src/gate/streams/stream-news.ts";

test("the first batch is told at once, further ones only after a while, and at the end what is not known", () => {
  const news = new StreamNews();
  expect(news.take(0, 1000)).toBe(false);
  expect(news.take(10, 1000)).toBe(true);
  expect(news.take(20, 1000 + NEWS_MS - 1)).toBe(false);
  expect(news.knows(20)).toBe(false);
  expect(news.take(30, 1000 + NEWS_MS)).toBe(true);
  expect(news.take(30, "end")).toBe(false);
  expect(news.take(31, "end")).toBe(true);
  expect(news.take(31, "end")).toBe(false);
});

test("of a stream that is continued only the items are news that its listeners do not know", () => {
  const news = new StreamNews(500);
  expect(news.take(500, "end")).toBe(false);
  expect(news.take(501, 0)).toBe(true);
});
