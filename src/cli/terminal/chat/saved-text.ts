import { cleanText } from "../../../output/clean-text.ts";
import { callText, hostedCallText, turnText } from "../../../views/words.ts";
import type { CallView, ConversationView, ModelTurnView, SaidView, TextHead } from "../../../views/view.ts";
import { oneLine } from "../one-line.ts";

/** A conversation as Markdown: what was said, the programs with their results, and the direct calls. */
export function savedText(view: ConversationView): string {
  const calls = new Map(view.calls.map((call) => [call.id, call]));
  const parts = [
    `# Conversation ${oneLine(view.execution)}`,
    `${oneLine(view.model)}, begun ${new Date(view.startedAt).toISOString()}`,
    ...view.turns.flatMap((turn) => turnParts(turn, calls)),
    ...view.said.map(saidPart),
  ];
  return `${parts.join("\n\n")}\n`;
}

function turnParts(turn: ModelTurnView, calls: ReadonlyMap<string, CallView>): readonly string[] {
  const direct = turn.calls.flatMap((id) => calls.get(id) ?? []);
  return [
    ...turn.said.map(saidPart),
    "## Model",
    ...(turn.text.text.trim() === "" ? [] : [shownHead(turn.text)]),
    ...turn.programs.flatMap(({ source, result }) => [
      fenced(shownHead(source), "js"),
      ...(result ? ["Result:", fenced(shownHead(result))] : []),
    ]),
    ...turn.hosted.map((call) => `${oneLine(hostedCallText(call))} (data from outside)`),
    ...turn.citations.map(({ url, title = "" }) => `- Source: ${oneLine(`${title} <${url}>`.trim())}`),
    ...direct.flatMap((call) => [
      `Call of ${oneLine(call.tool)}: ${oneLine(callText(call))}`,
      fenced(shownHead(call.input), "json"),
      ...(call.result ? ["Result:", fenced(shownHead(call.result))] : []),
    ]),
    `*${oneLine(turnText(turn))}*`,
  ];
}

function saidPart({ by, text }: SaidView): string {
  return `## ${by === "user" ? "You" : "Host"}\n\n${shownHead(text)}`;
}

function shownHead({ text, cut, bytes }: TextHead): string {
  return `${cleanText(text).trim()}${cut ? `\n… (cut: it has ${bytes} bytes)` : ""}`;
}

/** A block of code, whose fence is longer than every run of its characters in it. */
function fenced(text: string, language = ""): string {
  let longest = 2;
  let run = 0;
  for (const character of text) {
    run = character === "`" ? run + 1 : 0;
    longest = Math.max(longest, run);
  }
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
