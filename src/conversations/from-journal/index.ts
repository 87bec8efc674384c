export {
  HELD_CONVERSATION,
  standingOfConversation,
  waitingCallsOf,
  cancelPrograms,
  type PastConversation,
  readPastConversation,
} from "./past-conversation.ts";
export {
  applyTurnRecord,
  ConversationState,
  copiedTurns,
  type KnownState,
  resultAnswer as toldResult,
  userMessages,
  MAX_TURN_CALLS,
  type Transcript,
  type TranscriptTurn,
} from "./conversation-state.ts";
export { parseEnding, readContent } from "./parse-message.ts";
