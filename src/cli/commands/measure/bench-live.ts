import { join } from "node:path";
import { now } from "../../../clock.ts";
import { REPEAT } from "../../../comparison/numbers.ts";
import { runTrials, summariseTrials, TRIAL_MODES, type Trial } from "../../../comparison/trials.ts";
import { optionError } from "../../../errors.ts";
import type { Approve } from "../../../gate/approve/approval.ts";
import { PRICES, priceOf } from "../../../models/prices.ts";
import { given } from "../../../option-rules/given.ts";
import { count } from "../../../output/count-text.ts";
import type { BENCH, CommandOptions } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { Failure } from "../../failure.ts";
import type { Job } from "../../input/bench-jobs.ts";
import { parseModel } from "../../input/load-model.ts";
import { readPriceFile } from "../../input/option-files.ts";
import { word } from "../../input/option-values.ts";
import { version } from "../../package-json.ts";
import { cancelOnSignal } from "../../terminal/cancel-on-signal.ts";
import { oneLine } from "../../terminal/one-line.ts";
import { printJson, printTable } from "../../terminal/print.ts";
import { type Screen, tellSteps } from "../../terminal/screen.ts";
import { writeStderr, writeStdout } from "../../terminal/standard-streams.ts";
import { openOut, today, writeOut } from "../../write-out.ts";

/** What a live bench is given. Throws if it lacks a model with a price, or the dollars that it may cost. */
export function readLive({ model: name = "", prices: file, baseUrl, maxUsd, mode }: CommandOptions<typeof BENCH>) {
  if (name === "") throw new Failure(EXIT.usage, "--live needs --model: the provider and its model, like openai:NAME.");
  const prices = file === undefined ? PRICES : readPriceFile("--prices", file);
  const price = priceOf(prices, name.slice(name.indexOf(":") + 1));
  if (maxUsd === undefined || !/^\d+(\.\d+)?$/.test(maxUsd) || Number(maxUsd) <= 0)
    throw optionError("--max-usd", "the most to spend in US dollars, like 2.50", maxUsd);
  const readMode = word(TRIAL_MODES, TRIAL_MODES.join(", "));
  return {
    model: parseModel(name, { ...given({ baseUrl }) }),
    price,
    pricesOf: prices.date,
    maxUsd: Number(maxUsd),
    modes: mode === undefined ? TRIAL_MODES : mode.split(",").map((one) => readMode("--mode", one)),
  };
}

/** `portcullis bench --live`: a real model does the tasks in both modes, several times. Resolves with the exit code. */
export async function benchLive(
  jobs: readonly Job[],
  live: ReturnType<typeof readLive>,
  {
    repeat = REPEAT.default,
    out = freshFolder(),
    sandbox,
    language,
    limit: limits,
    json,
  }: CommandOptions<typeof BENCH>,
  { screen, approve }: { readonly screen: Screen; readonly approve: Approve },
): Promise<number> {
  const { model, price, pricesOf, maxUsd, modes } = live;
  using cancelling = cancelOnSignal();
  const { signal } = cancelling;
  const trials: Trial[] = [];
  const about = { format: 2, date: today(), portcullis: version, model: model.name, pricesOf, price, maxUsd };
  // Written next to one file for each conversation, and after each trial: a later failure must not lose what was paid for.
  const save = () => writeOut(out, "live.json", asText({ ...about, trials, summary: summariseTrials(trials) }));
  // Fail before money is spent if the folder cannot be written.
  openOut(out);
  const planned = jobs.length * modes.length * repeat;
  const step = tellSteps(planned, screen);
  try {
    const tasks = jobs.map(({ loaded: { task }, tools }) => ({ task, tools }));
    const runtime = { sandbox, limits, approve };
    const ended = runTrials({ tasks, modes, repeat, model, price, maxUsd, language, runtime, signal });
    for await (const { trial, transcript, round } of ended) {
      trials.push(trial);
      writeOut(out, `live-${trial.task}-${trial.mode}-${round}.json`, asText(transcript));
      save();
      step(`${trial.task}: ${trial.mode} ${round}`);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  save();
  writeStderr(`Kept in ${oneLine(out)}: live.json, and each conversation.\n`);
  if (json) printJson({ ...about, trials, summary: summariseTrials(trials) });
  else print(trials, planned - trials.length, maxUsd);
  return signal.aborted ? cancelling.exitCode : EXIT.completed;
}

/** Default of `--out`. Each run gets a new folder, so that no run overwrites results that cost money. */
function freshFolder(): string {
  return join("bench", `live-${new Date(now()).toISOString().slice(0, 19).replaceAll(":", "")}`);
}

function asText(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function print(trials: readonly Trial[], notBegun: number, maxUsd: number): void {
  const head = ["task", "mode", "right", "void", "tokens", "per right answer", "turns", "seconds", "US$, at most"];
  const whole = (value: number) => (Number.isFinite(value) ? count(Math.round(value)) : "–");
  const rows = summariseTrials(trials).map((one) => [
    one.task,
    one.mode,
    `${one.right} of ${one.trials - one.void}`,
    `${one.void}`,
    ...[one.tokens, one.tokensPerRightAnswer, one.turns].map(whole),
    Number.isNaN(one.ms) ? "–" : (one.ms / 1000).toFixed(1),
    one.usd.toFixed(4),
  ]);
  printTable(head, rows, head.slice(2));
  for (const { task, mode, void: cause } of trials)
    if (cause !== undefined) writeStdout(`${oneLine(`${task}, ${mode}: void, because ${cause}`)}\n`);
  if (notBegun > 0)
    writeStdout(
      `${notBegun} of ${trials.length + notBegun} trials were not begun: US$ ${maxUsd} were spent, or the run was cancelled.\n`,
    );
}
