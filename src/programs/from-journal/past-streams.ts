import type { HostFrame } from "../../../bridge/frames.ts";
import { ItemsDigest } from "../../gate/streams/past-items.ts";
import type { OpenCall } from "./execution-state.ts";

/** The last batch of each stream, and a digest of its items: what the next driver needs to go on with an open one. */
export class PastStreams {
  readonly #streams = new Map<number, { body: string; readonly digest: ItemsDigest } | undefined>();

  take({ id, body }: HostFrame & { readonly kind: "items" }): void {
    const stream = this.#streams.get(id) ?? { body: "", digest: new ItemsDigest() };
    if (body !== undefined) {
      stream.digest.add(body.slice(1, -1));
      stream.body = body;
    }
    // A batch that the journal does not hold cannot be compared.
    this.#streams.set(id, body === undefined ? undefined : stream);
  }

  /** Completes what is known of the streams of these calls, which are open. */
  complete(calls: ReadonlyMap<number, OpenCall>): void {
    for (const [id, call] of calls) {
      const stream = this.#streams.get(id);
      if (!stream || !call.streamed) continue;
      const last: unknown = (JSON.parse(stream.body) as unknown[]).at(-1);
      call.streamed = { ...call.streamed, last: JSON.stringify(last), digest: stream.digest.hex };
    }
  }
}
