import { cleanText } from "../../../output/clean-text.ts";

/** What may be the first half of something that `cleanText` tells from its second half. */
const HALVES = /(?:\r|\ufe0f|[\ud800-\udbff])$/;

/**
 * Cleans foreign text that comes in pieces: together the results are what `cleanText` makes of the whole. Each character
 * that could begin a sequence of a terminal becomes an escape by itself, so a sequence gains nothing by being split.
 * Holds one character.
 */
export class StreamCleaner {
  #held = "";

  add(piece: string): string {
    const text = this.#held + piece;
    const cleaned = cleanText(text);
    this.#held = HALVES.test(text) ? text.slice(-1) : "";
    return this.#held === "" ? cleaned : cleaned.slice(0, -cleanText(this.#held).length);
  }

  /** What was held. */
  end(): string {
    const rest = cleanText(this.#held);
    this.#held = "";
    return rest;
  }
}
