/** JSON text of a value; undefined for a value that has none. Whatever the value's own code throws is ignored. */
export function jsonTextOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** The value of a JSON text; the text itself if it is no JSON, as a model or a journal from elsewhere may write it. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The value of a JSON text; undefined if it is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
