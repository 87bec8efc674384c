/** What tests of a whole runtime use. A test of one module imports the file that it needs. */
export * from "./all-tests.ts";
export * from "./count-turns.ts";
export * from "./failing.ts";
export * from "./journal-with.ts";
export * from "./memory-folder.ts";
export * from "./new-file.ts";
export * from "./new-folder.ts";
export * from "./noted-reads.ts";
export * from "./runtime.ts";
export * from "./slow-turn.ts";
export * from "./tools.ts";
