import type { AgentEvent } from "../conversations/event.ts";
import { PortcullisError } from "../base/index.ts";
import { redactEnding } from "../executions/redact-execution.ts";
import type { About, Redactor } from "../journal/redaction/redactor.ts";

const TO_LOG: About = { to: "log" };
const MAX_CAUSES = 3;

/**
 * Tells of events once they are redacted, in their order. What a program prints is told together when it ends or waits: a
 * secret may stand in several pieces of it.
 */
export class RedactedEvents {
  readonly #redactor: Redactor;
  readonly #tell: (event: AgentEvent) => void;
  readonly #printed = new Map<string, Extract<AgentEvent, { readonly type: "output" }>>();
  #told: Promise<void> = Promise.resolve();

  constructor(redactor: Redactor, tell: (event: AgentEvent) => void) {
    this.#redactor = redactor;
    this.#tell = tell;
  }

  take(event: AgentEvent): void {
    if (event.type === "output") {
      const { execution } = event;
      this.#printed.set(execution, { ...event, text: (this.#printed.get(execution)?.text ?? "") + event.text });
      return;
    }
    if (event.type === "execution_ended" || event.type === "execution_waiting") this.#tellPrinted(event.execution);
    this.#told = this.#told.then(async () => this.#tell(await this.#redacted(event)));
  }

  /** Resolves once all so far are told. */
  async flush(): Promise<void> {
    for (const execution of this.#printed.keys()) this.#tellPrinted(execution);
    await this.#told;
  }

  #tellPrinted(execution: string): void {
    const event = this.#printed.get(execution);
    this.#printed.delete(execution);
    if (!event) return;
    this.#told = this.#told.then(async () => this.#tell({ ...event, text: await this.#text(event.text) }));
  }

  async #text(text: string, about = TO_LOG): Promise<string> {
    return (await this.#redactor.text(text, about)).text;
  }

  /** The words of a model are told as they are: what it was told was redacted before. */
  async #redacted(event: AgentEvent): Promise<AgentEvent> {
    switch (event.type) {
      case "call_ended":
      case "call_retried":
      case "call_undecided": {
        const { tool, callId, error } = event;
        return error === undefined ? event : { ...event, error: await this.#error(error, { ...TO_LOG, tool, callId }) };
      }
      case "execution_ended":
        return { ...event, outcome: await redactEnding(event.outcome, this.#redactor, TO_LOG) };
      case "program_ended":
        return event.outcome ? { ...event, outcome: await redactEnding(event.outcome, this.#redactor, TO_LOG) } : event;
      case "execution_waiting":
      case "conversation_waiting":
        return { ...event, waiting: await this.#redactor.value(event.waiting, TO_LOG) };
      case "conversation_started":
        return { ...event, task: await this.#text(event.task) };
      case "program_started":
        return { ...event, source: await this.#text(event.source) };
      default:
        return event;
    }
  }

  /** A clean error in place of one, and of anything else that was thrown its JSON. Never rejects. */
  async #error(thrown: unknown, about: About, causes = MAX_CAUSES): Promise<unknown> {
    try {
      if (thrown instanceof Error) return await this.#cleanError(thrown, about, causes);
      return await this.#redactor.value(thrown, about);
    } catch {
      return "What was thrown has no JSON, and was left out.";
    }
  }

  async #cleanError(error: Error, about: About, causes: number): Promise<Error> {
    const message = await this.#text(textOf(error, "message"), about);
    const given = causes === 0 ? undefined : fieldOf(error, "cause");
    const cause = given === undefined ? undefined : await this.#error(given, about, causes - 1);
    const options = cause === undefined ? {} : { cause };
    const clean = PortcullisError.is(error)
      ? new PortcullisError(error.code, message, options)
      : new Error(message, options);
    const stack = await this.#text(textOf(error, "stack"), about);
    const name = await this.#text(textOf(error, "name"), about);
    Object.defineProperties(clean, {
      name: { value: name, configurable: true, writable: true },
      stack: { value: stack, configurable: true, writable: true },
    });
    return clean;
  }
}

function textOf(error: Error, name: "message" | "stack" | "name"): string {
  const given = fieldOf(error, name);
  return typeof given === "string" ? given : "";
}

/** An error's field, whose getter may throw. */
function fieldOf(error: Error, name: keyof Error): unknown {
  try {
    return error[name];
  } catch {
    return undefined;
  }
}
