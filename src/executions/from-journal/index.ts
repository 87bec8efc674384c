export * from "./call-history.ts";
export { changedTools } from "./changed-since.ts";
export { endingHead } from "./ending-head.ts";
export * from "./execution-state.ts";
export { errorIn, findOwn, type Past, type PastFold, pastFold } from "./past-execution.ts";
export { placesByTool, readEnding, recordedExecution, returnedText } from "./recorded-execution.ts";
export { eachSliced, invalidAt, type PastTurn, pastTurns, readingSliced, readTurnSliced } from "./read-turns.ts";
export { type Standing, standingOf, waitingCalls } from "./standing.ts";
