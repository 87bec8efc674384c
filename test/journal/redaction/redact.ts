import type { Redact, RedactFinding } from "../../../src/index.ts";

/** A text as it is, and as it is in JSON, and in JSON inside of JSON. */
export function formsOf(secret: string): readonly string[] {
  const once = JSON.stringify(secret).slice(1, -1);
  return [...new Set([secret, once, JSON.stringify(once).slice(1, -1)])];
}

/** Finds each occurrence of a text, in all its forms. */
export function finding(secret: string, to: readonly string[] = ["model", "journal", "log"]): Redact {
  return ({ text, to: target }) => {
    const found: RedactFinding[] = [];
    if (!to.includes(target)) return found;
    for (const form of formsOf(secret))
      for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + form.length))
        found.push({ start: at, end: at + form.length, what: "test" });
    return found;
  };
}
