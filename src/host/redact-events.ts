import type { AgentEvent } from "../agent/event.ts";
import { PortcullisError } from "../errors.ts";
import { redactEnding } from "../programs/redact-execution.ts";
import type { About, Redactor } from "../redaction/redactor.ts";

const TO_LOG: About = { to: "log" };
/** Causes of an error that are kept. */
const MAX_CAUSES = 3;

/**
 * Tells of events once they are redacted, in their order. What a program prints is told together when it ends or waits: a
 * secret may stand in several pieces of it.
 */
export class RedactedEvents {
  readonly #redactor: Redactor;
  readonly #tell: (event: AgentEvent) => void;
  readonly #printed = new Map<string, string>();
  #told: Promise<void> = Promise.resolve();

  constructor(redactor: Redactor, tell: (event: AgentEvent) => void) {
    this.#redactor = redactor;
    this.#tell = tell;
  }

  take(event: AgentEvent): void {
    if (event.type === "output") {
      const { execution, text } = event;
      this.#printed.set(execution, (this.#printed.get(execution) ?? "") + text);
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
    const text = this.#printed.get(execution);
    this.#printed.delete(execution);
    if (text === undefined) return;
    this.#told = this.#told.then(async () => this.#tell({ type: "output", execution, text: await this.#text(text) }));
  }

  async #text(text: string, about = TO_LOG): Promise<string> {
    return (await this.#redactor.text(text, about)).text;
  }

  /** The words of a model are told as they are: what it was told was redacted before. */
  async #redacted(event: AgentEvent): Promise<AgentEvent> {
    switch (event.type) {
      case "call_ended": {
        const { line, error } = event;
        const about = { ...TO_LOG, tool: line.tool, callId: line.callId };
        return {
          ...event,
          ...(error === undefined ? {} : { error: await this.#error(error, about) }),
        };
      }
      case "call_retried": {
        const { tool, callId, error } = event;
        return { ...event, error: await this.#error(error, { ...TO_LOG, tool, callId }) };
      }
      case "execution_ended":
        return { ...event, outcome: await redactEnding(event.outcome, this.#redactor, TO_LOG) };
      case "program_ended":
        return event.outcome ? { ...event, outcome: await redactEnding(event.outcome, this.#redactor, TO_LOG) } : event;
      case "execution_waiting":
        return { ...event, waiting: await this.#redactor.value(event.waiting, TO_LOG) };
      case "conversation_waiting":
        return { ...event, waiting: await this.#redactor.value(event.waiting, TO_LOG) };
      case "program_started":
        return { ...event, source: await this.#text(event.source) };
      default:
        return event;
    }
  }

  /** An error of the same kind, with a clean message and stack. Of anything else its text. */
  async #error(error: unknown, about: About, causes = MAX_CAUSES): Promise<unknown> {
    if (!(error instanceof Error))
      return typeof error === "string" ? this.#text(error, about) : this.#thrown(error, about);
    const message = await this.#text(textOf(error, "message"), about);
    const cause =
      error.cause === undefined || causes === 0 ? undefined : await this.#error(error.cause, about, causes - 1);
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

  async #thrown(thrown: unknown, about: About): Promise<unknown> {
    try {
      return await this.#redactor.value(thrown, about);
    } catch {
      return "What was thrown has no JSON, and was left out.";
    }
  }
}

/** An error's field, whose getter may throw. */
function textOf(error: Error, name: "message" | "stack" | "name"): string {
  try {
    const { [name]: given } = error as unknown as Readonly<Record<string, unknown>>;
    return typeof given === "string" ? given : "";
  } catch {
    return "";
  }
}
