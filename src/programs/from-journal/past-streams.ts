import type { HostFrame } from "../../../bridge/frames.ts";
import { ItemsDigest } from "../../gate/streams/past-items.ts";
import type { OpenCall } from "./execution-state.ts";

/** The last batch of each stream, and a digest of its items: what the next driver needs to go on with an open one. */
export class PastStreams {
  readonly #streams = new Map<number, { body: string | undefined; readonly digest: ItemsDigest }>();

  take({ id, body }: HostFrame & { readonly kind: "items" }): void {
    const stream = this.#streams.get(id);
    if (!stream) this.#streams.set(id, { body, digest: digestOf(body) });
    // After a batch that the journal does not hold nothing can be compared.
    else if (body === undefined || stream.body === undefined) stream.body = undefined;
    else {
      stream.digest.add(body.slice(1, -1));
      stream.body = body;
    }
  }

  /** Completes what is known of the streams of these calls, which are open. */
  complete(calls: ReadonlyMap<number, OpenCall>): void {
    for (const [id, call] of calls) {
      const stream = this.#streams.get(id);
      if (stream?.body === undefined || !call.streamed) continue;
      const last: unknown = (JSON.parse(stream.body) as unknown[]).at(-1);
      call.streamed = { ...call.streamed, last: JSON.stringify(last), digest: stream.digest.hex };
    }
  }
}

function digestOf(body: string | undefined): ItemsDigest {
  const digest = new ItemsDigest();
  if (body !== undefined) digest.add(body.slice(1, -1));
  return digest;
}
