export { isHeadMoved } from "../execution-log.ts";
export { findIfKnown, ifKnown } from "../find-if-known.ts";
export { readLines } from "./read-lines.ts";
export {
  HOST,
  NO_ITEMS,
  readHeader,
  ReadingBudget,
  type ReadingOptions,
  readList,
  readRecords,
} from "./read-records.ts";
export { readingsAtOnce } from "./reading-quota.ts";
export { RECORD_SCHEMAS } from "../record-schemas.ts";
