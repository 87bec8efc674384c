import { BASELINE, HEADLINE, type Mode } from "../comparison.ts";
import type { ComparisonRequest } from "../compare-options.ts";
import { count, counted } from "../../output/count-text.ts";
import type { Outcome } from "../../programs/outcome.ts";
import { PROVIDERS } from "../../models/provider/providers.ts";
import type { Wire } from "../wires/wire.ts";
import { TOKEN_LENGTH } from "./cut-result.ts";
import type { Judgement } from "./answer-from.ts";
import type { ConversationRun } from "./conversation-run.ts";

/** Warnings that belong to the figures of a comparison. */
export function notesOf(
  { task, wires, left, windowTokens }: ComparisonRequest,
  { outcomes, layers, resultBytes }: ConversationRun,
  probed: ConversationRun,
  judgements: ReadonlyMap<Mode, Judgement>,
  barred: readonly string[],
  overflows: boolean,
): string[] {
  const outcome = outcomes.at(-1);
  const calls = layers.flat().length;
  const verdictOf = (mode: Mode) => judgements.get(mode)?.verdict;
  const given = task.direct ?? layers;
  const notes: readonly (string | false)[] = [
    outcome?.type !== "completed" &&
      `The program did not complete (${outcomeText(outcome)}): correct it, then compare.`,
    ...wrongAnswers(judgements),
    probed.outcomes[0]?.type !== "completed" &&
      "The probing program, which reads samples, did not complete. One that completes would cost more.",
    barred.length > 0 &&
      !overflows &&
      `Direct calls were not measured, because only programs may call ${barred.join(", ")}.`,
    overflows &&
      `Direct calls were not made: ${barred.join(", ")} gave ${count(resultBytes)} bytes, as streams. A window of ${count(windowTokens)} tokens does not hold them, because no token has more than ${TOKEN_LENGTH} characters.`,
    new Set((["programmatic", HEADLINE, "programmatic+retry"] as const).map(verdictOf)).size > 1 &&
      "The same program gave different answers: a tool, or the program, is not deterministic. Use fixed data, then compare.",
    verdictOf(BASELINE) === "unchecked" &&
      "It is unchecked whether the direct calls lead to the answer, because the program makes a call that is not among them. Give both the same calls.",
    (given.flat().length > calls || given.length > layers.length) &&
      `The task gives ${counted(given.flat().length, "direct call")} in ${counted(given.length, "step")}, but the program makes ${count(calls)} in ${count(layers.length)}: more direct calls than needed make programs look better than they are.`,
    !task.direct &&
      layers.length > 2 &&
      `The program makes its ${counted(calls, "call")} in ${counted(layers.length, "step")}, one after the other, so direct calls are counted so too. If they do not need each other's answers, use Promise.all, or give the task its direct calls.`,
    left.length > 0 && leftText(left),
    !wires.every(({ exact }) => exact) && "Tokens of Claude and Gemini are estimates: their encodings are not public.",
  ];
  return notes.filter((note) => note !== false);
}

function leftText(left: readonly Wire[]): string {
  const sdks = new Set(left.map(({ provider }) => PROVIDERS.get(provider)?.sdk ?? ""));
  return `Not measured, because its SDK is not installed: ${left.map(({ provider }) => provider).join(", ")} (npm install ${[...sdks].join(" ")}).`;
}

/** UTF-16 units of a fault's message in a note. */
const MESSAGE_LENGTH = 300;

function outcomeText(outcome: Outcome | undefined): string {
  if (outcome?.type === "stopped") return `stopped by the limit ${outcome.limit}`;
  if (outcome?.type !== "failed") return outcome?.type ?? "it was not run";
  const { name, message, line } = outcome.fault;
  const where = line === undefined ? "" : ` at line ${line}`;
  return `failed: ${name}${where}: ${message.slice(0, MESSAGE_LENGTH).replaceAll("\n", " ")}`;
}

/** Expected and given values, by path. Results that are cut are meant to lead to wrong answers. */
function wrongAnswers(judgements: ReadonlyMap<Mode, Judgement>): string[] {
  const wrong = [...judgements].flatMap(([mode, { difference }]) =>
    difference === undefined || mode === "direct-truncated" ? [] : [{ mode, difference }],
  );
  return [...Map.groupBy(wrong, ({ difference }) => difference)].map(
    ([difference, modes]) => `Wrong answer of ${modes.map(({ mode }) => mode).join(", ")}: ${difference}.`,
  );
}
