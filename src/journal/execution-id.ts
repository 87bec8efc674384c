/**
 * Id of an execution or of a conversation: text without a form of its own, by which the journal holds its records and
 * reports, events, calls and handlers name it.
 */
export type ExecutionId = string;
