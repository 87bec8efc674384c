import { type Fields, fieldTexts, readPlainData, type SlicedWork } from "../../base/index.ts";

/** Characters of a field of an ending that is read. Only what was returned is longer. */
const READ_LENGTH = 64 * 1024;

/**
 * The fields of an ending, from the text of an outcome, which may come from elsewhere. A large field is left out: the value of
 * a host's call may have millions of values. Empty for a text that is no record.
 */
export function* endingHead(outcome: string): SlicedWork<Fields> {
  const texts = yield* fieldTexts(outcome);
  const read: [string, unknown][] = [];
  for (const [name, text] of texts ?? []) {
    const field = text.length > READ_LENGTH ? undefined : readPlainData(text);
    if (field?.ok) read.push([name, field.value]);
  }
  return Object.fromEntries(read);
}
