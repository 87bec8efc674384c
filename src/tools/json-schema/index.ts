export { IN_PLACE, leadsToLoop, MAX_STATES, PatternStates } from "./compile-schema.ts";
export { currentDraft, currentPart } from "./current-draft.ts";
export { type JsonSchema, mapSchema, resolveReference } from "./json-schema.ts";
export { LinearPattern, readPattern } from "./patterns/linear-pattern.ts";
export { PatternRefused } from "./patterns/parse-pattern.ts";
