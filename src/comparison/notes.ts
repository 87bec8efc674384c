import { type ProviderName, PROVIDERS } from "../models/provider/providers.ts";
import { count, counted } from "../output/count-text.ts";
import { type TaskRun, TOKEN_LENGTH } from "./conversations.ts";
import { EXACT } from "./requests.ts";

/** Warnings that belong to the figures of a comparison. `wanted` are the providers of the options, all by default. */
export function notesOf(
  { conversations, programmatic, probed, programOnly, overflows }: TaskRun,
  measured: readonly ProviderName[],
  { providers: wanted, windowTokens }: { readonly providers?: unknown; readonly windowTokens: number },
): string[] {
  const { layers, resultBytes } = programmatic;
  const left = [...PROVIDERS.values()].filter(({ name }) => wanted === undefined && !measured.includes(name));
  const faults = Map.groupBy(conversations, ([, { fault }]) => fault ?? "");
  const notes: readonly (string | false)[] = [
    ...[...faults].map(
      ([fault, modes]) => fault !== "" && `Wrong answer of ${modes.map(([mode]) => mode).join(", ")}: ${fault}.`,
    ),
    probed.outcomes[0]?.type !== "completed" &&
      "The probing program, which reads samples, did not complete. One that completes would cost more.",
    programOnly.length > 0 &&
      !overflows &&
      `Only programs may call ${programOnly.join(", ")}: direct calls are counted as if models might, too.`,
    overflows &&
      `Direct calls were not made: ${programOnly.join(", ")} gave ${count(resultBytes)} bytes, as streams. A window of ${count(windowTokens)} tokens does not hold them, because no token has more than ${TOKEN_LENGTH} characters.`,
    programmatic.fault !== probed.fault &&
      "The same program gave different answers: a tool, or the program, is not deterministic. Use fixed data, then compare.",
    layers.length > 2 &&
      `The program makes its ${counted(layers.flat().length, "call")} in ${counted(layers.length, "step")}, one after the other, so direct calls are counted so too. If they do not need each other's answers, use Promise.all.`,
    left.length > 0 &&
      `Not measured, because its SDK is not installed: ${left.map(({ name }) => name).join(", ")} (npm install ${[...new Set(left.map(({ sdk }) => sdk))].join(" ")}).`,
    !measured.every((name) => EXACT.has(name)) &&
      "Tokens of Claude and Gemini are estimates: their encodings are not public.",
  ];
  return notes.filter((note) => note !== false);
}
