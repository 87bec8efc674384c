import { countText, now } from "../../../base/index.ts";
import { readPastConversation, standingOfConversation } from "../../../conversations/from-journal/index.ts";
import type { Journal } from "../../../journal/journal.ts";
import type { Model } from "../../../models/model.ts";
import type { Waiting } from "../../../executions/outcome.ts";
import type { ConversationView } from "../../../serve/views/view.ts";
import { viewExecution } from "../../../serve/views/view-execution.ts";
import type { SameOptions } from "../../command-options.ts";
import { EXIT, Failure, UsageFailure } from "../../failure.ts";
import { findExecution } from "../../input/open-journal.ts";
import { loadModel, type ModelOptions, recordedModel } from "../../input/load-module.ts";
import { flags, shellQuoted } from "../../terminal/executions/waiting-hints.ts";
import { oneLine } from "../../terminal/standard-streams.ts";

/** A conversation of the journal that is taken up. */
export interface PastChat {
  readonly view: ConversationView;
  /** The model that answers in it. */
  readonly answering: string;
  /** Whether it goes on without a new message: its host died, or its calls wait. */
  readonly goesOn: boolean;
  /** What its calls wait for. */
  readonly waits: Waiting | undefined;
}

export async function readPastChat(journal: Journal, named: string, options: SameOptions): Promise<PastChat> {
  const execution = await findExecution(journal, named, options.tenant ?? "default");
  const view = await viewExecution(journal, execution);
  if (view.kind !== "conversation")
    throw new UsageFailure(`--id: ${oneLine(named)} is a ${view.kind}, and no conversation.`);
  if (view.drivenUntil !== undefined) throw heldElsewhere(execution, view.drivenUntil, options);
  const past = await readPastConversation(journal, execution, view.tenant);
  const standing = standingOfConversation(past);
  const rests = standing.state === "waiting" && standing.rests;
  return {
    view,
    answering: past.answering.model,
    goesOn: standing.state !== "ended" && !rests,
    waits: standing.state === "waiting" && !rests ? standing.waiting : undefined,
  };
}

/** A conversation has one driver. Another one that has just died holds it for as long as its lease lasts. */
function heldElsewhere(execution: string, until: number, { tenant, journal }: SameOptions): Failure {
  const seconds = Math.max(1, Math.ceil((until - now()) / 1000));
  const watch = `portcullis show ${shellQuoted(execution)} --follow${flags({ tenant, journal })}`;
  return new Failure(
    EXIT.environment,
    `--id: ${oneLine(execution)} is open in another process. End it there (/exit), then start this command again; if that process has died, wait ${countText(seconds, "second")}. This shows it meanwhile: ${watch}`,
  );
}

/** The model of `--model`, or else the one that the conversation has. */
export async function chatModel(
  named: string | undefined,
  past: PastChat | undefined,
  options: ModelOptions,
): Promise<Model> {
  if (named !== undefined) return loadModel(named, options);
  if (past) return recordedModel(past.answering, options);
  throw new UsageFailure("chat needs --model PROVIDER:NAME, or --id ID, which takes a conversation of the journal up.");
}
