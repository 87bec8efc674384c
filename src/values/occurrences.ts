/** The offsets at which `part` occurs in `text` from `from` on, without overlaps. An empty part occurs nowhere. */
export function* occurrences(text: string, part: string, from = 0): Generator<number, undefined> {
  if (part === "") return;
  for (let at = text.indexOf(part, from); at >= 0; at = text.indexOf(part, at + part.length)) yield at;
}
