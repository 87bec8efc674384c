export { packageFile, packageVersion } from "./package-files.ts";
export {
  type ExecutionId,
  describe,
  describeSecret,
  errorAt,
  type ErrorCode,
  loadPackage,
  optionError,
  PortcullisError,
} from "./errors.ts";
export {
  after,
  cancel,
  clearImmediate,
  countable,
  deadline,
  every,
  monotonic,
  nextTurn,
  now,
  pause,
  setImmediate,
  type Timer,
  untilAborted,
  WaitedTime,
} from "./clock.ts";
export { guarded } from "./options/callbacks.ts";
export { didYouMean, isSlip, nearest, orMeant } from "./options/nearest.ts";
export {
  abortSignal,
  advised,
  array,
  asked,
  bareFunction,
  callback,
  checkOptions,
  checkValue,
  defaultsOf,
  fieldsOf,
  flag,
  given,
  listener,
  object,
  oneOf,
  option,
  type OptionPlace,
  type OptionPresence,
  type OptionRule,
  type OptionRules,
  optionsIn,
  type OptionsOf,
  pick,
  readOptions,
  required,
  type Resolved,
  secret,
  text,
  wholeNumber,
  wholeNumberOrInfinity,
  withDefault,
  words,
} from "./options/options.ts";
export {
  answeredBy,
  ByteList,
  endsOfLine,
  EventCutter,
  LineReader,
  type LongLine,
  OutputTail,
} from "./values/byte-streams.ts";
export {
  betweenText,
  cutCleaned,
  cutMiddle,
  type Ends,
  endsOf,
  type LongText,
  occurrences,
} from "./values/cut-middle.ts";
export {
  countOf,
  fieldOf,
  type Fields,
  isFields,
  isTexts,
  listOf,
  type SchemaType,
  textOf,
  without,
} from "./values/fields.ts";
export {
  defaultHeldBytes,
  HeldBytes,
  heldInCommon,
  type HeldOverdraft,
  memoryOf,
  Share,
  UNIT_BYTES,
} from "./values/held-bytes.ts";
export { exactJson, exactText, isLongInteger, jsonNumber, LONG_NUMBER } from "./values/json/exact-json.ts";
export { entryTexts, fieldTexts } from "./values/json/json-fields.ts";
export { stringifyUnusual } from "./values/json/json-form.ts";
export { jsonInParts, jsonParts } from "./values/json/json-parts.ts";
export { COMMA, JsonScanner, MORE, newCount, QUOTE } from "./values/json/json-scanner.ts";
export { jsonOrText, JsonText, jsonTextOf, parsedJson } from "./values/json/json-text.ts";
export { readUrl } from "./untrusted/read-url.ts";
export { quickKey } from "./values/json/quick-key.ts";
export { lossText, type LostData, lostData, pathText, type Paths, shownKey } from "./values/json/lost-data.ts";
export { measure, type Measured, PLAIN_DEPTH, readPlainData, TOO_LARGE } from "./values/json/plain-data.ts";
export {
  isLarge,
  type ResultLimits,
  type ResultText,
  resultType,
  serialiseResult,
  TooManyValues,
  tooManyValues,
} from "./values/json/serialise-result.ts";
export { type CutTexts, readHead, readUpTo, type TextRest } from "./values/json/value-head.ts";
export { exceededBy, MAX_DEPTH, sizeFault, weigh } from "./values/json/weigh.ts";
export { inSlices, Lane, Pace, type SlicedWork } from "./values/slice-scheduler.ts";
export { type Answer, JobThread, type Reader } from "./untrusted/job-thread.ts";
export {
  answerTo,
  hostOf,
  isNearAddress,
  isOtherAddress,
  isPublicAddress,
  publicLookup,
} from "./untrusted/public-address.ts";
export type { JsonBounds } from "./untrusted/readers.ts";
export {
  areSame,
  AT_ONCE,
  bytesOf,
  entriesOf,
  isBlank,
  jsonFault,
  LargeEntry,
  PARSED_VALUES,
  passOn,
  plainFault,
  readerFor,
  readerOf,
  readExact,
  readJson,
  readMessage,
  readPlainEscapes,
  readPlainJson,
  type ReadSound,
  repeats,
  type TextReader,
  untrusted,
  type UntrustedText,
} from "./untrusted/untrusted-text.ts";
export { Counts } from "./places/counts.ts";
export { Places, type Release } from "./places/places.ts";
export { countNames, type InLine, type Rate, type SharedLimits, WaitingLine } from "./places/waiting-line.ts";
export { byteText, cleanText, count, counted, INSET, insetLines, insetText, written } from "./texts.ts";
