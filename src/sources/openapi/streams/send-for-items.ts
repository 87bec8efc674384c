import { PortcullisError } from "../../../errors.ts";
import { oneLine } from "../../../tools/declarations/one-line.ts";
import type { CallContext } from "../../../tools/tool.ts";
import { textOf } from "../../../values/fields.ts";
import { isHeaderValue } from "../../request-text.ts";
import type { RequestParts } from "../request.ts";
import { askForSuccess, type Call, drop, type Sender } from "../send.ts";
import { EventItems } from "./event-items.ts";
import type { ItemReader, ReaderParts } from "./item-reader.ts";
import { LineItems, SequenceItems } from "./line-items.ts";
import { isReadAs, type StreamForm } from "./stream-form.ts";

const READERS: Readonly<Record<StreamForm, new (parts: ReaderParts) => ItemReader>> = {
  lines: LineItems,
  sequence: SequenceItems,
  events: EventItems,
};

/**
 * Sends a request, and yields the items of its answer as they come. A chunk is read once the items of the last are
 * taken. Throws as `send` does; after the items before it `source_unavailable` for an answer that breaks off or cannot
 * be read, and `result_too_large` for an item with more bytes or values than a result may have.
 */
export async function* sendForItems(
  sender: Sender,
  call: Call,
  request: RequestParts,
  form: StreamForm,
  context: CallContext,
): AsyncGenerator<unknown, void> {
  const { source } = sender;
  const { resultBytes, resultValues } = context;
  const { response, secrets } = await askForSuccess(sender, call, resumed(source, request, form, context), context);
  const mediaType = response.headers.get("content-type");
  if (response.body === null) return;
  if (!isReadAs(form, mediaType)) {
    await drop(response);
    const said = oneLine(secrets.takenFrom(mediaType ?? ""), 100);
    throw new PortcullisError(
      "tool_failed",
      `${source} answered with ${said} and not with the stream that it declares.`,
    );
  }
  const reader = new READERS[form]({ source, secrets, resultBytes, resultValues });
  let items = 0;
  for await (const chunk of chunksOf(response.body, (cause) => brokeOff(source, call, items, cause)))
    for (const item of reader.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))) {
      items += 1;
      yield item;
    }
  yield* reader.end();
}

async function* chunksOf(
  body: NonNullable<Response["body"]>,
  brokenOff: (cause: unknown) => PortcullisError,
): AsyncGenerator<Uint8Array, void> {
  const chunks = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await chunks.next().catch((cause: unknown) => {
        throw brokenOff(cause);
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    // Gives the connection up if the reader has left.
    await chunks.return?.().catch(() => {});
  }
}

function brokeOff(source: string, { effect }: Call, items: number, cause: unknown): PortcullisError {
  const next =
    effect === "read"
      ? "Use these, or call again."
      : "Use these. The call may have taken effect: find out before you call again.";
  return new PortcullisError(
    "source_unavailable",
    `${source} broke off after ${items} ${items === 1 ? "item" : "items"}. ${next}`,
    { cause },
  );
}

/** The request for the events after those that the program has read. */
function resumed(source: string, request: RequestParts, form: StreamForm, { after }: CallContext): RequestParts {
  if (form !== "events" || !after) return request;
  const id = Buffer.from(textOf(after.last, "id") ?? "").toString("latin1");
  if (id === "" || !isHeaderValue(id))
    throw new PortcullisError(
      "tool_failed",
      `The host stopped while these events were read, and ${source} gave the last one no id to go on from. Use what has been read, or begin again with a new program.`,
    );
  return { ...request, headers: [...request.headers, ["last-event-id", id]] };
}
