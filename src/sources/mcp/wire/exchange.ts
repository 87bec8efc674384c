import { ConnectionLost, type MessageId } from "./wire.ts";

/** Wait before a broken stream is asked for again, in milliseconds. A call does not wait for a server that wants more. */
export const RESUME_MS = { least: 100, ofNotifications: 1000, most: 60_000 } as const;
/** How often the stream of one call is resumed without any event. */
const QUIET_RESUMES = 5;

/** What a response with an error's status says of itself. */
export interface Refusal {
  /** Why, in the server's own words. */
  readonly said?: string | undefined;
  /** Whether the server asks for other credentials. */
  readonly isChallenge?: boolean;
}

/** One request over HTTP and its reply, which may come in several streams. */
export class Exchange {
  /** Undefined for a message that is no request. */
  readonly id: MessageId | undefined;
  /** Whether the reply is a document, which holds the answer if there is any. */
  isDocument = false;
  /** Of its latest request, if that was refused. */
  refusal: Refusal | undefined;
  /** Id of the event after which its stream was resumed last. */
  lastEvent = "";
  /** How often its stream was resumed since it last had an event. */
  quiet = 0;
  /** Why there will be no answer, if that is known. */
  ended: Error | undefined;

  constructor(id: MessageId | undefined) {
    this.id = id;
  }

  get lost(): Error {
    return this.ended ?? new ConnectionLost("The reply ended without an answer.");
  }

  /** Notes why there will be no answer: the first reason holds. */
  end(why: Error): Error {
    return (this.ended ??= why);
  }

  /** Counts one more request for the rest of its stream, after `delayMs`. False if that is not asked for. */
  mayResume(delayMs: number): boolean {
    this.quiet += 1;
    if (delayMs > RESUME_MS.most) this.end(new ConnectionLost("The server wants its stream resumed too late."));
    else if (this.quiet > QUIET_RESUMES) this.end(new ConnectionLost("The reply broke off again and again."));
    return this.ended === undefined;
  }
}
