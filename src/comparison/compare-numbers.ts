import { wholeNumber } from "../option-rules/options.ts";

/** Calls that a model makes in one turn. */
export const AT_ONCE = wholeNumber({ min: 1, max: 1_000_000, default: 10 });
/** Tokens to which results are cut, in the mode that cuts them. */
export const CUT_TOKENS = wholeNumber({ min: 1, max: 1_000_000, default: 2500 });
export const WINDOW_TOKENS = wholeNumber({ min: 1, max: 100_000_000, default: 200_000 });
/** Trials of each task in each mode, with a real model. */
export const REPEAT = wholeNumber({ min: 1, max: 999, default: 3 });
