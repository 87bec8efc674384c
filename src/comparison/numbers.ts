import { wholeNumber } from "../option-rules/options.ts";

export const WINDOW_TOKENS = wholeNumber({ min: 1, max: 100_000_000, default: 200_000 });
/** Trials of each task in each mode, with a real model. */
export const REPEAT = wholeNumber({ min: 1, max: 999, default: 3 });
