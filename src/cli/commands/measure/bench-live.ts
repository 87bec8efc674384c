import { now } from "../../../clock.ts";
import { writeStderr, writeStdout } from "../../terminal/standard-streams.ts";
import { join } from "node:path";
import { runTrials } from "../../../comparison/trials/run-trials.ts";
import { given } from "../../../option-rules/given.ts";
import { optionError } from "../../../errors.ts";
import { priceOf, type PriceTable } from "../../../models/prices.ts";
import { summariseTrials } from "../../../comparison/trials/summarise-trials.ts";
import { TRIAL_MODES, type OfflineCheck, type Trial, type TrialMode } from "../../../comparison/trials/trial.ts";
import { WIRES } from "../../../comparison/wires/wires.ts";
import type { Approve } from "../../../gate/approve/approval.ts";
import { count } from "../../../output/count-text.ts";
import { type Screen, tellSteps } from "../../terminal/screen.ts";
import type { Job } from "../../input/bench-jobs.ts";
import { cancelOnSignal } from "../../terminal/cancel-on-signal.ts";
import type { CommandOptions, BENCH } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { Failure } from "../../failure.ts";
import { parseModel } from "../../input/load-model.ts";
import { whole, word, wordError } from "../../input/option-values.ts";
import { REPEAT } from "../../../comparison/compare-numbers.ts";
import { printJson, printTable } from "../../terminal/print.ts";
import { version } from "../../package-json.ts";
import { openOut, today, writeOut } from "../../write-out.ts";
import { oneLine } from "../../terminal/one-line.ts";

/** The model that a live bench is given. Throws if `--provider` or `--model` is missing, or the provider is unknown. */
export function readLiveModel({ provider = "", model: name = "" }: CommandOptions<typeof BENCH>) {
  if (provider === "" || name === "")
    throw new Failure(
      EXIT.usage,
      "--live needs --provider and --model: the provider, and the name of the model there.",
    );
  const wire = WIRES.get(provider);
  if (!wire) throw wordError("--provider", [...WIRES.keys()].join(", "), provider, [...WIRES.keys()]);
  return { provider, name, wire };
}

/** `portcullis bench --live`: a real model does the tasks in both modes, several times. Resolves with the exit code. */
export async function benchLive(
  jobs: readonly Job[],
  prices: PriceTable,
  options: CommandOptions<typeof BENCH>,
  { screen, approve }: { readonly screen: Screen; readonly approve: Approve },
): Promise<number> {
  const { provider, name, wire } = readLiveModel(options);
  const price = priceOf(prices, name);
  const maxUsd = parseDollars(options.maxUsd);
  const repeat = options.repeat === undefined ? REPEAT.default : whole(REPEAT)("--repeat", options.repeat);
  const modes = parseModes(options.mode);
  using cancelling = cancelOnSignal();
  const trials: Trial[] = [];
  const { baseUrl, out = freshFolder() } = options;
  // Written as `live.json`, next to one file for each conversation.
  const report = () => ({
    format: 1,
    date: today(),
    portcullis: version,
    model: `${provider}:${name}`,
    // The prices that dollars were calculated from.
    prices: { date: prices.date, of: name, price },
    maxUsd,
    trials,
    summary: summariseTrials(trials),
  });
  // Fail before money is spent if the folder cannot be written.
  openOut(out);
  const planned = jobs.length * modes.length * repeat;
  const step = tellSteps(planned, screen);
  try {
    const ended = runTrials({
      tasks: jobs.map(({ loaded: { task }, tools }) => ({ task, tools })),
      modes,
      repeat,
      connect: (fetch) => parseModel(`${provider}:${name}`, { stream: false, fetch, ...given({ baseUrl }) }),
      wire,
      price,
      maxUsd,
      sandbox: options.sandbox,
      language: options.language,
      limits: options.limit,
      approve,
      signal: cancelling.signal,
    });
    for await (const { trial, transcript, round } of ended) {
      trials.push(trial);
      writeOut(out, `live-${trial.task}-${trial.mode}-${round}.json`, asText(transcript));
      // Saved after each trial: a later failure must not lose results that were paid for.
      writeOut(out, "live.json", asText(report()));
      step(`${trial.task}: ${trial.mode} ${round}`);
    }
  } catch (error) {
    if (!cancelling.signal.aborted) throw error;
  }
  writeOut(out, "live.json", asText(report()));
  writeStderr(`Kept in ${oneLine(out)}: live.json, and each conversation.\n`);
  if (options.json) printJson(report());
  else print(trials, planned, maxUsd);
  return cancelling.signal.aborted ? cancelling.exitCode : EXIT.completed;
}

/** Default of `--out`. Each run gets a new folder, so that no run overwrites results that cost money. */
function freshFolder(): string {
  return join("bench", `live-${new Date(now()).toISOString().slice(0, 19).replaceAll(":", "")}`);
}

function asText(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function print(trials: readonly Trial[], planned: number, maxUsd: number): void {
  const head = ["task", "mode", "right", "void", "tokens", "per right answer", "turns", "seconds", "US$, at most"];
  const whole = (value: number) => count(Math.round(value));
  const range = ({ median, min, max }: { median: number; min: number; max: number }, text = whole) =>
    Number.isNaN(median) ? "–" : `${text(median)} (${text(min)}–${text(max)})`;
  const rows = summariseTrials(trials).map((one) => [
    one.task,
    one.mode,
    `${one.right} of ${one.trials - one.void}`,
    `${one.void}`,
    range(one.tokens),
    one.tokensPerRightAnswer === undefined ? "–" : whole(one.tokensPerRightAnswer),
    range(one.turns),
    range({ median: one.ms.median / 1000, min: one.ms.min / 1000, max: one.ms.max / 1000 }, (seconds) =>
      seconds.toFixed(1),
    ),
    one.usd.toFixed(4),
  ]);
  printTable(head, rows, head.slice(2));
  for (const { task, mode, void: cause } of trials)
    if (cause !== undefined) writeStdout(`${oneLine(`${task}, ${mode}: void, because ${cause}`)}\n`);
  for (const { task, mode, offline } of trials)
    if (offline) writeStdout(`${oneLine(agreementText(task, mode, offline))}\n`);
  if (trials.length < planned)
    writeStdout(
      `${planned - trials.length} of ${planned} trials were not begun: the rest of US$ ${maxUsd} would not pay for them, or the run was cancelled.\n`,
    );
}

function agreementText(task: string, mode: TrialMode, { deviation, agrees, exact }: OfflineCheck): string {
  const percent = `${deviation >= 0 ? "+" : ""}${(deviation * 100).toFixed(1)} %`;
  const text = `${task}, ${mode}: the offline accounting differs from the provider's count by ${percent}`;
  if (agrees) return `${text}: it agrees.`;
  return exact
    ? `${text}: it does NOT agree within 10 %. Do not rely on the offline figures for this provider.`
    : `${text}: more than 10 %, because its encoding is not public and the offline figures are estimates.`;
}

function parseDollars(text: string | undefined): number {
  if (text === undefined || !/^\d+(\.\d+)?$/.test(text) || Number(text) <= 0)
    throw optionError("--max-usd", "the maximum cost in US dollars, like 2.50", text);
  return Number(text);
}

function parseModes(text: string | undefined): readonly TrialMode[] {
  if (text === undefined) return TRIAL_MODES;
  const readMode = word(TRIAL_MODES, TRIAL_MODES.join(", "));
  return text.split(",").map((one) => readMode("--mode", one));
}
