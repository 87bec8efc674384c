import { expect, test } from "vitest";
import { z } from "zod";
import { compare, countTokens } from "../../src/comparison/index.ts";
import { createRuntime, defineTool } from "../../src/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";

/*
 * What direct calls cost by `compare` is what a loop costs that someone writes round a provider's API without this package:
 * here such a loop is written down, and its tokens are counted by another package.
 */

const THINGS = ["pen", "book", "rug"];
const INPUT = z.object({ thing: z.string().describe("Its name") });
const DESCRIPTION = "Price of one thing.";
const stock = ({ thing }: z.infer<typeof INPUT>) => ({ thing, euros: thing.length, note: `[from shop] "${thing}"\n` });
const QUESTION = "What do a pen, a book and a rug cost?";

/** A tool of which this package would say more than the provider's block does. */
const price = defineTool({
  name: "price",
  description: DESCRIPTION,
  source: "shop",
  inputSchema: INPUT,
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: stock,
});

const { $schema: _, ...schema } = z.toJSONSchema(INPUT);
const parameters = { type: schema.type, properties: schema.properties, ...schema };
const about = { name: "price", description: DESCRIPTION };
/** A tool as the reference of each provider shows it, and its result in the provider's block. */
const LOOPS: Readonly<Record<string, { readonly tools: unknown; readonly result: (value: unknown) => string }>> = {
  anthropic: { tools: [{ ...about, input_schema: parameters }], result: (value) => JSON.stringify(value) },
  openai: {
    tools: [{ type: "function", ...about, parameters, strict: false }],
    result: (value) => JSON.stringify(value),
  },
  "openai-chat": {
    tools: [{ type: "function", function: { ...about, parameters } }],
    result: (value) => JSON.stringify(value),
  },
  gemini: {
    tools: [{ functionDeclarations: [{ ...about, parametersJsonSchema: parameters }] }],
    result: (value) => JSON.stringify({ output: value }),
  },
};
/** What the report says that it assumes for the envelope of each call and each result. */
const ENVELOPE = 10;

const tokens = (text: string) => countTokens(text);
const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

test("direct calls are measured as a plain loop sends them: no instructions, no labels, on each provider", async () => {
  await using runtime = await createRuntime({ tools: [price], sandbox: createMemorySandbox() });
  const program = `const found = await Promise.all(${JSON.stringify(THINGS)}.map((thing) => tools.price({ thing })));
return found.reduce((all, { euros }) => all + euros, 0);`;
  const { providers } = await compare(runtime, { name: "sum", question: QUESTION, program, answer: 10 });
  expect(providers.map(({ provider }) => provider).toSorted()).toEqual(Object.keys(LOOPS).toSorted());
  for (const { provider, modes } of providers) {
    const { tools, result } = LOOPS[provider]!;
    const definitions = tokens(JSON.stringify(tools));
    const first = definitions + tokens(QUESTION);
    const written = sum(THINGS.map((thing) => tokens("price") + tokens(JSON.stringify({ thing })) + ENVELOPE));
    const results = sum(THINGS.map((thing) => tokens(result(stock({ thing }))) + ENVELOPE));
    const { spent } = modes.find(({ mode }) => mode === "direct-parallel")!;
    const plain = { input: first + first + written + results, output: written + tokens("10") };
    const measured = { input: spent.input, output: spent.output };
    if (provider !== "gemini") expect([provider, measured]).toEqual([provider, plain]);
    // Gemini's declarations have keywords left out, so that they are smaller than a plain loop's.
    else expect([measured.input <= plain.input, measured.output]).toEqual([true, plain.output]);
  }
});
