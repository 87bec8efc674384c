import { fieldOf, isFields } from "../../../values/fields.ts";

/** Bytes of one message of a client, on the standard streams and over HTTP. */
export const MESSAGE_BYTES = 4 * 1024 * 1024;
/** Values of a message beside the arguments of a call, and fields of these arguments. The protocol's package checks each of them many times. */
const FRAME_VALUES = 2000;
const ARGUMENT_FIELDS = 10_000;

/** Why a message is refused before the protocol's package sees it; undefined for any other message. */
export function frameFault(message: unknown): string | undefined {
  const params = fieldOf(message, "params");
  const given = fieldOf(params, "arguments");
  if (isFields(given) && Object.keys(given).length > ARGUMENT_FIELDS)
    return `The arguments of a call may have at most ${ARGUMENT_FIELDS} fields.`;
  return hasMore(message, given, FRAME_VALUES)
    ? `A message may have at most ${FRAME_VALUES} values beside the arguments of its call.`
    : undefined;
}

/** Whether a value has more than so many values, one part of it left out. */
function hasMore(root: unknown, leftOut: unknown, most: number): boolean {
  const open: unknown[] = [root];
  let seen = 0;
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    seen += 1;
    if (seen + open.length > most) return true;
    if (typeof value !== "object" || value === null || value === leftOut) continue;
    const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    if (seen + open.length + parts.length > most) return true;
    open.push(...parts);
  }
  return false;
}
