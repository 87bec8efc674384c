import { z } from "zod";
import { anthropic, createRuntime, defineTool, gemini, openai, openaiChat } from "../../src/index.ts";
import type { Model } from "../../src/models/index.ts";
import type { ProgramsOption } from "../../src/runtime/reports.ts";

/** What `make live` asks, of each provider whose key is in the environment. A model can be chosen by a variable of its own. */
const MODELS: readonly (readonly [
  key: string,
  variable: string,
  fallback: string,
  make: (options: { readonly model: string }) => Model,
  programs: readonly ProgramsOption[],
])[] = [
  ["ANTHROPIC_API_KEY", "ANTHROPIC_MODEL", "claude-sonnet-4-5", anthropic, ["local", "hosted"]],
  ["OPENAI_API_KEY", "OPENAI_MODEL", "gpt-5.4", openai, ["local", "hosted"]],
  ["OPENAI_API_KEY", "OPENAI_CHAT_MODEL", "gpt-5.4", openaiChat, ["local"]],
  ["GEMINI_API_KEY", "GEMINI_MODEL", "gemini-3-flash", gemini, ["local"]],
];

const units = new Map([
  ["K-9", 17],
  ["K-10", 25],
]);
const getStock = defineTool({
  name: "warehouse.getStock",
  description: "Units of one article",
  inputSchema: z.object({ sku: z.enum(["K-9", "K-10"]) }),
  outputSchema: z.object({ units: z.number() }),
  allowedCallers: ["programmatic"],
  effect: "read",
  execute: ({ sku }) => ({ units: units.get(sku) ?? 0 }),
});
const TASK =
  "How many units of K-9 and K-10 are there together? Ask the warehouse from one program, and answer with the number only.";

let failed = 0;
for (const [key, variable, fallback, make, programs] of MODELS) {
  const name = process.env[variable] ?? fallback;
  if (!process.env[key]) {
    process.stdout.write(`skipped ${variable} (${name}): ${key} is not set\n`);
    continue;
  }
  const model = make({ model: name });
  for (const where of programs) {
    await using runtime = await createRuntime({ tools: [getStock] });
    const { ending, usage } = await runtime.agent({
      model,
      task: TASK,
      programs: where,
      loop: { maxTurns: 8, maxTokens: 50_000 },
    });
    const right = ending.type === "answered" && ending.answer.includes("42") && usage.calls === 2;
    failed += right ? 0 : 1;
    process.stdout.write(
      `${right ? "right  " : "WRONG  "} ${model.name}, programs ${where}: ${JSON.stringify(ending)}, ${JSON.stringify(usage)}\n`,
    );
  }
}
process.exitCode = failed === 0 ? 0 : 1;
