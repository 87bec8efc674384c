/** How an answer holds its items: a line each, a text of `application/json-seq` each, or an event each. */
export type StreamForm = "lines" | "sequence" | "events";

/** The form of an answer of this media type; undefined if it is no stream. */
export function streamFormOf(mediaType: string): StreamForm | undefined {
  const type = essenceOf(mediaType);
  if (/^(?:application|text)\/(?:x-)?(?:ndjson|jsonl|json-?lines)$/.test(type)) return "lines";
  if (type === "application/json-seq" || type.endsWith("+json-seq")) return "sequence";
  return type === "text/event-stream" ? "events" : undefined;
}

/** What servers say of lines of JSON, for want of a better type. */
const VAGUE: ReadonlySet<string> = new Set([
  "application/json",
  "text/json",
  "text/plain",
  "application/octet-stream",
  "binary/octet-stream",
]);

/** Whether an answer of this media type is to be read in the form that its document declares. */
export function isReadAs(form: StreamForm, mediaType: string | null): boolean {
  if (mediaType === null || streamFormOf(mediaType) === form) return true;
  return form !== "events" && VAGUE.has(essenceOf(mediaType));
}

function essenceOf(mediaType: string): string {
  return mediaType.toLowerCase().split(";", 1)[0]!.trim();
}
