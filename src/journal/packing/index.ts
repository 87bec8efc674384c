export { type AppendListener, AppendListeners } from "../append-listeners.ts";
export { FIRST_MOMENT, isGivenBack } from "../given-back.ts";
export {
  driverChanged,
  executionExists,
  executionUnknown,
  headMoved,
  journalDamaged,
  otherTables,
} from "../journal-error.ts";
export {
  executionRow,
  listedOf,
  MAX_NAME_BYTES,
  MAX_RECORD_BYTES,
  MAX_STORED_BYTES,
  summaryOf,
} from "./execution-row.ts";
export {
  itemsUpTo,
  type PackedRecord,
  packRecords,
  type StoredText,
  type TextStore,
  unpackRecord,
} from "./large-texts.ts";
