import { wholeNumber } from "../options/options.ts";

/** Turns of a model in one conversation. */
export const MAX_TURNS = wholeNumber({ min: 1, max: 10_000, default: 20 });
