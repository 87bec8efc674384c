export { Listeners } from "../listeners.ts";
export { FIRST_MOMENT, isGivenBack } from "../given-back.ts";
export * from "../journal-error.ts";
export * from "../wrapped-journal.ts";
export * from "./execution-row.ts";
export * from "./row-journal.ts";
export { type PackedRecord, packRecords, type StoredText } from "./large-texts.ts";
export * from "./stored-records.ts";
