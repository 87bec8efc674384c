// Tries: to keep copies of a long text in ICU's break iterators.
// Ends: stopped memoryBytes | failed RangeError
const kept = [];
const text = "ab ".repeat(2_000_000);
const segmenter = new Intl.Segmenter("th", { granularity: "word" });
for (;;) kept.push(segmenter.segment(text)[Symbol.iterator]().next());
