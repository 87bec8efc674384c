import type { AgentEvent } from "../../conversations/event.ts";
import { callback, type ExecutionId, listener, type OptionsOf, wholeNumber } from "../../base/index.ts";
import type { Model } from "../../models/model.ts";
import type { Schema } from "../../tools/schema.ts";

/** An execution that is about to be taken up. */
export interface RecoveredExecution {
  readonly execution: ExecutionId;
  readonly tenant: string;
}

/** A conversation that is about to be taken up. */
export interface RecoveredConversation extends RecoveredExecution {
  /** Provider and model that answers in it, like `anthropic:claude-opus-4-5`. */
  readonly model: string;
  readonly task: string;
}

export const RECOVER_RULES = {
  /** Whether to take an execution up; all by default. The others stay open. */
  only: callback<(recovered: RecoveredExecution) => boolean>(),
  /**
   * Gives the schema of what a program returns, if the program began with a schema. By default a plain schema
   * (`jsonSchema`) is taken from the journal. A program without its schema is not taken up.
   */
  result: callback<(recovered: RecoveredExecution) => Schema | undefined>(),
  /** Gives the model that a conversation began with. Without the function, or if it returns undefined, conversations stay open. */
  model: callback<(conversation: RecoveredConversation) => Model | undefined>(),
  /** Gives the models that go on in a conversation if the model before them fails for good, in this order. */
  fallbacks: callback<(conversation: RecoveredConversation) => readonly Model[] | undefined>(),
  /**
   * Number of executions that are taken up at once; 8 by default. A core has engines for twice as many programs, so new
   * programs find engines after a crash.
   */
  concurrency: wholeNumber({ min: 1, max: 10_000, default: 8 }),
  /** Gives a signal that cancels one execution. */
  signal: callback<(recovered: RecoveredExecution) => AbortSignal | undefined>(),
  /** Called with each event of what is taken up, besides the runtime's `onEvent`. What it throws is ignored. */
  onEvent: listener<(event: AgentEvent) => void>(),
  /** Gives the host's own value for an execution. Handlers and `approve` get it; a program and a model do not. */
  context: callback<(recovered: RecoveredExecution) => unknown>(),
};

export type RecoverOptions<Context = unknown> = Omit<OptionsOf<typeof RECOVER_RULES>, "context"> &
  (undefined extends Context ? Partial<GivesContext<Context>> : GivesContext<Context>);

interface GivesContext<Context> {
  /** Gives the host's own value for an execution. Handlers and `approve` get it; a program and a model do not. */
  readonly context: (recovered: RecoveredExecution) => Context;
}
