import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { count, given, now } from "../../../base/index.ts";
import { runTrials, summariseTrials, TRIAL_MODES, type Trial, type TrialsRequest } from "../../../comparison/trials.ts";
import type { BENCH, CommandOptions } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { causeOf, Failure } from "../../failure.ts";
import { parseModel } from "../../input/load-model.ts";
import { version } from "../../package-json.ts";
import { cancelOnSignal } from "../../terminal/cancel-on-signal.ts";
import { oneLine } from "../../terminal/one-line.ts";
import { printJson, printTable } from "../../terminal/print.ts";
import { tellWork, writeStderr, writeStdout } from "../../terminal/standard-streams.ts";

/** What a live bench is given. Throws if it lacks a model, or the tokens that it may take. */
export function readLive({ model: name = "", baseUrl, maxTokens }: CommandOptions<typeof BENCH>) {
  if (name === "") throw new Failure(EXIT.usage, "--live needs --model: the provider and its model, like openai:NAME.");
  if (maxTokens === undefined)
    throw new Failure(
      EXIT.usage,
      "--live needs --max-tokens: the tokens that it may take, like 500000. They cost money.",
    );
  return { model: parseModel(name, given({ baseUrl })), maxTokens };
}

/** `portcullis bench --live`: a real model does the tasks in both modes, several times. Resolves with the exit code. */
export async function benchLive(
  jobs: TrialsRequest["tasks"],
  { model, maxTokens }: ReturnType<typeof readLive>,
  { repeat = 3, sandbox, limit: limits, json }: CommandOptions<typeof BENCH>,
): Promise<number> {
  using cancelling = cancelOnSignal();
  const { signal } = cancelling;
  const at = new Date(now()).toISOString();
  const about = { format: 3, date: at.slice(0, 10), portcullis: version, model: model.name, maxTokens };
  // A new folder for each run, so that none overwrites results that cost money.
  const folder = join("bench", `live-${at.replaceAll(/[:.]/g, "")}`);
  const trials: Trial[] = [];
  const report = () => ({ ...about, trials, summary: summariseTrials(trials) });
  // After each trial: a later failure must not lose what was paid for. And first, before money is spent.
  const save = () => write(folder, "live", report());
  save();
  try {
    const ended = runTrials({ tasks: jobs, repeat, model, maxTokens, runtime: { sandbox, limits }, signal });
    for await (const { trial, transcript, round } of ended) {
      trials.push(trial);
      write(folder, `live-${trial.task}-${trial.mode}-${round}`, transcript);
      save();
      tellWork(`${trial.task}: ${trial.mode} ${round}`);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  writeStderr(`Kept in ${oneLine(folder)}: live.json, and each conversation.\n`);
  if (json) printJson(report());
  else print(trials, jobs.length * TRIAL_MODES.length * repeat - trials.length, maxTokens);
  return signal.aborted ? cancelling.exitCode : EXIT.completed;
}

function write(folder: string, name: string, value: unknown): void {
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(value, undefined, 2)}\n`);
  } catch (cause) {
    throw new Failure(
      EXIT.usage,
      `${folder} cannot be written: ${causeOf(cause)}. Start the command in another folder.`,
    );
  }
}

function print(trials: readonly Trial[], notBegun: number, maxTokens: number): void {
  const head = ["task", "mode", "right", "void", "tokens", "per right answer", "turns", "seconds"];
  const whole = (value: number) => (Number.isFinite(value) ? count(Math.round(value)) : "–");
  const rows = summariseTrials(trials).map((one) => [
    one.task,
    one.mode,
    `${one.right} of ${one.trials - one.void}`,
    `${one.void}`,
    ...[one.tokens, one.tokensPerRightAnswer, one.turns].map(whole),
    Number.isNaN(one.ms) ? "–" : (one.ms / 1000).toFixed(1),
  ]);
  printTable(head, rows, head.slice(2));
  for (const { task, mode, void: cause } of trials)
    if (cause !== undefined) writeStdout(`${oneLine(`${task}, ${mode}: void, because ${cause}`)}\n`);
  if (notBegun > 0)
    writeStdout(
      `${notBegun} of ${trials.length + notBegun} trials were not begun: ${count(maxTokens)} tokens were spent, or the run was cancelled.\n`,
    );
}
