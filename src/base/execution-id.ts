/**
 * Id of an execution or a conversation: opaque text. It is the key of the journal's records, and the name used in
 * reports, events and calls.
 */
export type ExecutionId = string;
