import { inspect } from "node:util";
import { isAnyObject, PortcullisError } from "../../base/index.ts";

/** An error may hold a whole response. */
const SHORT = { depth: 3, maxArrayLength: 20, maxStringLength: 10_000 };
/** Fields that `inspect` may show, which knows no bound for them: some 20 ms of the thread. */
const MOST_FIELDS = 5000;

/**
 * What was thrown, for the operator. An error of this package, like a handler's `tool_failed`, is a known failure: its
 * sentence is shown, and its stack would not help. Any other value is shown as node shows it, with its stack.
 */
export function thrownText(thrown: unknown): string {
  try {
    if (!PortcullisError.is(thrown)) return inspected(thrown);
    const { code, message, cause } = thrown;
    if (cause === undefined) return `${code}: ${message}`;
    const caused = cause instanceof Error ? `${cause.name}: ${cause.message}` : inspected(cause);
    return `${code}: ${message}\ncaused by ${caused}`;
  } catch {
    return "A value was thrown that cannot be shown.";
  }
}

function inspected(thrown: unknown): string {
  if (fieldsIn(thrown) <= MOST_FIELDS) return inspect(thrown, SHORT);
  const stack = thrown instanceof Error ? thrown.stack : undefined;
  return `${stack ?? "A value was thrown that is no error."}\nIt holds more than ${MOST_FIELDS} fields, which are not shown.`;
}

/** How many fields `inspect` would show, counted up to one more than may be. */
function fieldsIn(root: unknown): number {
  let [level, fields]: [unknown[], number] = [[root], 0];
  for (let depth = 0; depth <= SHORT.depth + 1; depth += 1) {
    const below: unknown[] = [];
    for (const part of level) {
      if (!isAnyObject(part) || ArrayBuffer.isView(part)) continue;
      const lists =
        part instanceof Map || part instanceof Set ? part.entries() : Array.isArray(part) ? part.values() : [];
      below.push(...Iterator.from<unknown>(lists).take(SHORT.maxArrayLength));
      if (Array.isArray(part)) continue;
      if (part instanceof Error) below.push(part.cause, (part as Partial<AggregateError>).errors);
      // The values of many fields take longer than their names.
      for (const name in part) {
        fields += 1;
        if (fields > MOST_FIELDS) return fields;
        below.push(part[name as keyof typeof part]);
      }
    }
    level = below;
  }
  return fields;
}
