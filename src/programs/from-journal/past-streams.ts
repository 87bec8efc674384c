import type { HostFrame } from "../../../bridge/frames.ts";
import { PortcullisError } from "../../errors.ts";
import { ItemsDigest } from "../../gate/streams/past-items.ts";
import type { OpenCall } from "./execution-state.ts";

/** The last batch of each open stream, and a digest of its items: what the next driver needs to go on with it. */
export class PastStreams {
  readonly #streams = new Map<number, { readonly body: string; readonly digest: ItemsDigest } | undefined>();

  /** Takes a batch of an open stream. */
  take({ id, body }: HostFrame & { readonly kind: "items" }): void {
    const stream = this.#streams.has(id) ? this.#streams.get(id) : { body: "", digest: new ItemsDigest() };
    // After a batch that the journal does not hold nothing can be compared.
    if (body !== undefined) stream?.digest.add(body.slice(1, -1));
    this.#streams.set(id, body === undefined ? undefined : stream && { body, digest: stream.digest });
  }

  /** The stream has ended, or the program reads no more of it. */
  end(id: number): void {
    this.#streams.delete(id);
  }

  /** Completes what is known of the streams of these calls, which are open. */
  complete(calls: ReadonlyMap<number, OpenCall>): void {
    for (const [id, call] of calls) {
      const stream = this.#streams.get(id);
      if (!stream || !call.streamed) continue;
      call.streamed = { ...call.streamed, last: JSON.stringify(lastOf(stream.body, id)), digest: stream.digest.hex };
    }
  }
}

/** The last item of a batch. The journal may come from elsewhere. */
function lastOf(body: string, id: number): unknown {
  let items: unknown;
  try {
    items = JSON.parse(body);
  } catch {
    items = undefined;
  }
  if (Array.isArray(items)) return items.at(-1) ?? null;
  throw new PortcullisError("journal_invalid", `The journal holds a batch of call ${id} that is no list of items.`);
}
