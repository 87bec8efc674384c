import { setTimeout } from "node:timers/promises";
import { type ScriptedMoment, scriptedModel, type ScriptedTurn } from "portcullis/testing";
import { STANDS } from "./tools.ts";

const PROGRAM = `const stands = Array.from({ length: ${STANDS} }, (_, index) => index + 1);
const answers = await Promise.all(
  stands.map((stand) => tools.task({ agent: "stand_reader", task: "Stand " + stand })),
);
return answers.map(Number).reduce((sum, broken) => sum + broken, 0);`;
/** Milliseconds that an agent thinks longer than the agent of the stand before. */
const THINKS_MS = 60;
const usage = { inputTokens: 100, outputTokens: 20 };

/** Stands for a real model: of the conversation, which writes the program, and of the agents, which inherit it. */
async function play({ said: [task = ""], results: [result] }: ScriptedMoment): Promise<ScriptedTurn> {
  const [, stand] = /^Stand (\d+)$/.exec(task) ?? [];
  if (stand === undefined)
    return result ? { text: `${result.text} things came back broken.`, usage } : { programs: [PROGRAM], usage };
  if (!result)
    return { calls: [{ tool: "read_file", input: { path: "stands.md", offset: Number(stand), limit: 1 } }], usage };
  await setTimeout(Number(stand) * THINKS_MS);
  return { text: /and (\d+) came back/.exec(result.text)?.[1] ?? "", usage };
}

export default scriptedModel([play, play], { name: "scripted:team" });
