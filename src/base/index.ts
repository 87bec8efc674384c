/* What other rooms use. A file with names for base alone is not passed on whole. */
export * from "./package-files.ts";
export * from "./errors.ts";
export * from "./start-process.ts";
export {
  after,
  cancel,
  clearImmediate,
  countable,
  deadline,
  every,
  monotonic,
  nextTick,
  nextTurn,
  now,
  pause,
  queueMicrotask,
  setImmediate,
  type Timer,
  untilAborted,
  WaitedTime,
} from "./clock.ts";
export { guardCallback } from "./options/callbacks.ts";
export * from "./options/nearest.ts";
export * from "./options/options.ts";
export * from "./values/byte-streams.ts";
export * from "./values/cut-middle.ts";
export * from "./values/fields.ts";
export * from "./values/held-bytes.ts";
export { exactJson, exactText, isLongInteger, jsonNumber, LONG_NUMBER } from "./values/json/exact-json.ts";
export * from "./values/json/json-fields.ts";
export { stringifyUnusual } from "./values/json/json-form.ts";
export { jsonInParts, jsonParts } from "./values/json/json-parts.ts";
export { COMMA, JsonScanner, measure, type Measurements, MORE, newCount, QUOTE } from "./values/json/json-scanner.ts";
export { jsonOrText, JsonText, jsonTextOf, parsedJson } from "./values/json/json-text.ts";
export * from "./values/json/quick-key.ts";
export { lossText, type LostData, lostData, pathText, type Paths, shownKey } from "./values/json/lost-data.ts";
export { PLAIN_DEPTH, readPlainData, TOO_LARGE } from "./values/json/plain-data.ts";
export * from "./values/json/serialise-result.ts";
export { type CutTexts, readHead, readUpTo, type TextRest } from "./values/json/value-head.ts";
export { MAX_DEPTH, sizeFault, weigh } from "./values/json/weigh.ts";
export { inSlices, Lane, Pace, type SlicedWork, wholly } from "./values/slice-scheduler.ts";
export { type JobAnswer, JobThread, type Reader } from "./untrusted/job-thread.ts";
export * from "./untrusted/public-address.ts";
export type { JsonBounds } from "./untrusted/readers.ts";
export * from "./untrusted/untrusted-text.ts";
export * from "./places/counts.ts";
export { Places, type Release } from "./places/places.ts";
export { countNames, type InLine, type Rate, type SharedLimits, WaitingLine } from "./places/waiting-line.ts";
export { byteText, cleanText, count, countText, INSET, insetLines, insetText, pointerKeys, written } from "./texts.ts";
