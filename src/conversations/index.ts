export { ConversationLog } from "./drive/conversation-log.ts";
export { cancelledError, interruptedError, keyRevoked, REASONS } from "./drive/interruption.ts";
export { childExecution, startedBy } from "./calls/child-execution.ts";
export { NO_SOURCE, type ProgramDeclarations } from "./calls/run-program.ts";
export { settingsOf } from "./conversation-settings.ts";
export { agentEndingText, clientEnding } from "./ending-text.ts";
