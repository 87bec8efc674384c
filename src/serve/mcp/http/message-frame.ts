import { fieldOf, isFields, sizeFault } from "../../../base/index.ts";

/** Bytes of one message of a client, on the standard streams and over HTTP. */
export const MESSAGE_BYTES = 4 * 1024 * 1024;
/** Values of a message beside the arguments of a call, and fields of these arguments. The protocol's package checks each of them many times. */
const FRAME_VALUES = 2000;
const ARGUMENT_FIELDS = 10_000;

/** The id of a request; undefined for any other message. */
export function idOf(message: unknown): string | number | undefined {
  const id = fieldOf(message, "id");
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

/** Why a message is refused before the protocol's package sees it; undefined for any other message. */
export function frameFault(message: unknown): string | undefined {
  const params = fieldOf(message, "params");
  const args = fieldOf(params, "arguments");
  if (isFields(args) && Object.keys(args).length > ARGUMENT_FIELDS)
    return `The arguments of a call may have at most ${ARGUMENT_FIELDS} fields.`;
  const frame =
    isFields(message) && isFields(params) && args !== undefined
      ? { ...message, params: { ...params, arguments: null } }
      : message;
  return sizeFault(frame, { depth: Infinity, values: FRAME_VALUES })
    ? `A message may have at most ${FRAME_VALUES} values beside the arguments of its call.`
    : undefined;
}
