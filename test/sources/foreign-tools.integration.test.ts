import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { RunContext, tool as agentsTool } from "@openai/agents";
import { jsonSchema as aiSchema, tool as aiTool } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { createRuntime, fromAiSdk, fromAnthropic, fromOpenAIAgents, fromOpenApi, type Tool } from "../../src/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { throws } from "../support/failing.ts";

const sandbox = createMemorySandbox();

const policy = { allowedCallers: ["programmatic"], effect: "read" } as const;
const k = z.object({ k: z.number().default(7) });
const spec = { openapi: "3.1.0", info: { title: "x", version: "1" }, paths: { "/x": { get: { operationId: "x" } } } };

/** What a program gets of a call, or the message of its refusal or failure. */
async function call(tools: readonly Tool[], expression: string): Promise<unknown> {
  await using runtime = await createRuntime({ tools, sandbox, approve: () => false });
  const { outcome } = await runtime.execute(
    `try { return await tools.${expression} } catch (error) { return error.message }`,
  );
  return outcome.type === "completed" ? outcome.value : outcome;
}

test("a policy says how a tool of any other library is shown, found and repeated", async () => {
  const more = {
    retry: { attempts: 2, delayMs: 0 },
    rate: { calls: 5, perMs: 1000 },
    onUnknown: "retry",
    tags: ["double"],
    instructions: "Call it once.",
    pinned: true,
    defer: false,
  } as const;
  const schema = { type: "object", properties: {}, additionalProperties: false } as const;
  const whole = { ...policy, ...more };
  await using api = await fromOpenApi({ name: "api", spec, baseUrl: "http://127.0.0.1:1" }, whole);
  const adopted = [
    ...fromAiSdk({ x: aiTool({ description: "X", inputSchema: k, execute: () => 1 }) }, whole),
    ...fromAnthropic([betaTool({ name: "x", description: "X", inputSchema: schema, run: () => "1" })], whole),
    ...fromOpenAIAgents([agentsTool({ name: "x", description: "X", parameters: k, execute: () => 1 })], whole),
    ...api.tools,
  ];
  expect(adopted).toHaveLength(4);
  for (const tool of adopted) expect(tool).toMatchObject(more);
});

test.each([
  [{ retry: { attempt: 2 } }, 'policy of "x": { retry }: there is no option "attempt", did you mean attempts?'],
  [{ rate: { calls: 5 } }, 'policy of "x": { rate: { perMs } }: expected a whole number'],
  [Promise.resolve(policy), 'policy of "x": expected an object, got a promise.'],
  [[policy], 'policy of "x": expected an object, got ['],
])("a mistake within a policy is the policy's, whatever the source: %j", async (mistake, message) => {
  const given = (mistake instanceof Promise || Array.isArray(mistake) ? mistake : { ...policy, ...mistake }) as never;
  expect(() => fromAiSdk({ x: aiTool({ inputSchema: k, execute: () => 1 }) }, given)).toThrow(message);
  const api = fromOpenApi({ name: "api", spec, baseUrl: "http://127.0.0.1:1" }, given);
  await expect(api).rejects.toThrow(message.replace('"x"', '"api.x"'));
});

// ---- the AI SDK ------------------------------------------------------------------------------------------------

test("a tool of the AI SDK is called with what its schema makes of the input, and told its call", async () => {
  const options: unknown[] = [];
  const double = aiTool({
    description: "Twice",
    inputSchema: k,
    execute: ({ k }, { toolCallId, abortSignal }) => {
      options.push([toolCallId, abortSignal instanceof AbortSignal]);
      return { twice: k * 2 };
    },
  });
  const tools = fromAiSdk({ double }, policy);
  expect(await call(tools, "double({})")).toEqual({ twice: 14 });
  expect(options).toEqual([["1", true]]);
  expect(await call(tools, 'double({ k: "x" })')).toContain("The input of double does not fit");
});

test("plain JSON Schema, and a validation of one's own, hold", async () => {
  const schema = aiSchema<{ k: number }>({ type: "object", properties: { k: { type: "number" } }, required: ["k"] });
  const odd = aiSchema<{ k: number }>(
    { type: "object", properties: { k: { type: "number" } } },
    {
      validate: (value) =>
        (value as { k: number }).k % 2 === 1
          ? { success: true, value: value as { k: number } }
          : { success: false, error: new Error("not odd") },
    },
  );
  const execute = ({ k }: { k: number }) => k;
  const tools = fromAiSdk(
    {
      plain: aiTool({ description: "Plain", inputSchema: schema, execute }),
      odd: aiTool({ description: "Odd", inputSchema: odd, execute }),
    },
    policy,
  );
  expect(await call(tools, "plain({ k: 1 })")).toBe(1);
  expect(await call(tools, "plain({})")).toContain("The input of plain does not fit");
  expect(await call(tools, "odd({ k: 3 })")).toBe(3);
  expect(await call(tools, "odd({ k: 2 })")).toContain("not odd");
});

test("of results that come as they are made, the last counts; what asks for approval still does", async () => {
  const tools = fromAiSdk(
    {
      steps: aiTool({
        description: "Steps",
        inputSchema: k,
        async *execute() {
          yield 1;
          yield 2;
        },
      }),
      paid: aiTool({ description: "Paid", inputSchema: k, execute: () => "paid", needsApproval: true }),
    },
    policy,
  );
  expect(await call(tools, "steps({})")).toBe(2);
  expect(await call(tools, "paid({})")).toContain("approval was denied");
});

test("what the AI SDK's client would run itself cannot be adopted", () => {
  const tool = aiTool({ description: "Nothing", inputSchema: k });
  expect(() => fromAiSdk({ tool }, policy)).toThrow(/"tool" .*execute/);
  const contextSchema = z.object({ user: z.string() });
  const asks = aiTool({
    description: "Asks",
    inputSchema: k,
    contextSchema,
    execute: (_, { context }) => context.user,
  });
  expect(() => fromAiSdk({ asks }, policy)).toThrow(
    "only the AI SDK can pass the context it declares; close over that value instead",
  );
});

// ---- Anthropic -------------------------------------------------------------------------------------------------

test("Anthropic's runnable tools are called, and their text is a text", async () => {
  const tools = fromAnthropic(
    [
      betaZodTool({ name: "double", description: "Twice", inputSchema: k, run: ({ k }) => String(k * 2) }),
      betaTool({
        name: "blocks",
        description: "Blocks",
        inputSchema: { type: "object", properties: { k: { type: "number" } }, required: ["k"] },
        run: ({ k }) => [
          { type: "text", text: `${k}` },
          { type: "text", text: "and" },
        ],
      }),
    ],
    policy,
  );
  expect(await call(tools, "double({})")).toBe("14");
  expect(await call(tools, "blocks({ k: 3 })")).toBe("3\nand");
  expect(await call(tools, "blocks({})")).toContain("The input of blocks does not fit");
});

// ---- OpenAI Agents ---------------------------------------------------------------------------------------------

test("functions of OpenAI Agents are called, ask for approval, and fail as they say", async () => {
  const parameters = z.object({ k: z.number() });
  const description = "For tests";
  const fails = throws("hunter2");
  const tools = fromOpenAIAgents(
    [
      agentsTool({ name: "double", description, parameters, execute: ({ k }) => ({ twice: k * 2 }) }),
      agentsTool({ name: "paid", description, parameters, needsApproval: true, execute: () => "paid" }),
      agentsTool({ name: "soft", description, parameters, execute: fails }),
      agentsTool({ name: "hard", description, parameters, errorFunction: null, execute: fails }),
    ],
    (name) => (name === "double" ? policy : { ...policy, effect: "write" }),
  );
  expect(tools.map(({ effect }) => effect)).toEqual(["read", "write", "write", "write"]);
  expect(await call(tools, "double({ k: 2 })")).toEqual({ twice: 4 });
  expect(await call(tools, "double({})")).toContain("The input of double does not fit");
  expect(await call(tools, "paid({ k: 2 })")).toContain("approval was denied");
  expect(await call(tools, "soft({ k: 2 })")).toMatch(/error occurred/);
  expect(await call(tools, "hard({ k: 2 })")).toMatch(/^hard failed\./);
});

test("functions of OpenAI Agents are told the run context, by which they may be enabled and ask for approval", async () => {
  const options = { description: "For tests", parameters: z.object({}), errorFunction: null };
  const isAdmin = (context?: RunContext) => (context as RunContext<{ admin: boolean }>).context.admin;
  const take = (admin: boolean) =>
    fromOpenAIAgents(
      [
        agentsTool({ ...options, name: "who", execute: (_, context) => isAdmin(context) }),
        agentsTool({
          ...options,
          name: "enabled",
          isEnabled: ({ runContext }) => isAdmin(runContext),
          execute: () => 1,
        }),
        agentsTool({ ...options, name: "paid", needsApproval: async (context) => isAdmin(context), execute: () => 1 }),
      ],
      policy,
      new RunContext({ admin }),
    );
  expect(await call(take(true), "who({})")).toBe(true);
  expect(await call(take(true), "enabled({})")).toBe(1);
  expect(await call(take(false), "enabled({})")).toBe("enabled is not enabled.");
  expect(await call(take(true), "paid({})")).toContain("approval was denied");
  expect(await call(take(false), "paid({})")).toBe(1);
});

// ---- what has to be said ---------------------------------------------------------------------------------------

test("who may call has to be said, and a name that programs cannot write can be changed", () => {
  const tool = betaZodTool({ name: "get-weather", description: "Weather", inputSchema: k, run: () => "sun" });
  expect(() => fromAnthropic([tool], { effect: "read", name: "a" } as never)).toThrow(
    'policy of "get-weather": { allowedCallers }: expected a list',
  );
  expect(() => fromAnthropic([tool], { ...policy, execute: () => "rain" } as never)).toThrow(
    'policy of "get-weather": there is no option "execute".',
  );
  expect(() => fromAnthropic([tool], policy)).toThrow('Tool "get-weather": this name cannot be used');
  expect(fromAnthropic([tool], { ...policy, name: "weather.get" })[0]?.name).toBe("weather.get");
});

const guarded = { name: "guarded", description: "Guarded", parameters: z.object({}), execute: () => "ran" };
const guardrail = { name: "no", run: async () => ({ behavior: { type: "throwException" as const } }) };

test.each<[() => unknown, string]>([
  [() => fromAiSdk(null as never, policy), "fromAiSdk(tools): expected tools by their names, got null."],
  [() => fromAnthropic({} as never, policy), "fromAnthropic(tools): expected an array of runnable tools, got {}."],
  [
    () => fromOpenAIAgents([{ type: "hosted_tool", name: "web" }], policy),
    'fromOpenAIAgents: tool "web" cannot be adopted: it is not a function tool.',
  ],
  [
    () => fromOpenAIAgents([agentsTool({ ...guarded, inputGuardrails: [guardrail] })], policy),
    'fromOpenAIAgents: tool "guarded" cannot be adopted: its guardrails apply only inside a run of OpenAI Agents; check in execute instead.',
  ],
  [
    () => fromAnthropic([{ name: "a", input_schema: 5, run: () => 1 }], policy),
    'fromAnthropic: tool "a" cannot be adopted: its input schema is 5.',
  ],
])("what is no tool of the library is told, %#", (act, message) => {
  expect(act).toThrow(message);
});

// ---- results ---------------------------------------------------------------------------------------------------

const rows = aiTool({
  description: "Rows",
  inputSchema: k,
  outputSchema: z.object({ rows: z.array(z.object({ id: z.number(), text: z.string() })) }),
  execute: ({ k }) => ({ rows: Array.from({ length: 1000 }, (_, id) => ({ id: id + k, text: "x".repeat(100) })) }),
});

test("a policy's shape makes the result that counts, of what the source gives and the input", async () => {
  type Rows = { readonly rows: readonly { readonly id: number }[] };
  const shape = ({ rows }: Rows, input: { readonly k: number }) => rows.slice(0, input.k).map(({ id }) => id);
  const output = z.array(z.number());
  const [tool] = fromAiSdk({ rows }, { ...policy, shape, outputSchema: output });
  await using runtime = await createRuntime({ tools: tool ? [tool] : [], sandbox, limits: { resultBytes: 1000 } });
  const { outcome } = await runtime.execute("return await tools.rows({ k: 3 });");
  expect(outcome).toEqual({ type: "completed", value: [3, 4, 5] });
  expect(runtime.declarations()).toContain("Promise<number[]>");
});

test("with a shape alone the source's own schema no longer holds, and with output alone that is checked", async () => {
  expect(await call(fromAiSdk({ rows }, { ...policy, shape: async () => "short" }), "rows({})")).toBe("short");
  const odd = fromAiSdk({ rows }, { ...policy, outputSchema: z.object({ rows: z.string() }) });
  expect(await call(odd, "rows({})")).toContain("does not match its declared output");
});

test("a shape that throws fails the call, and its error stays on the host", async () => {
  const tools = fromAiSdk({ rows }, { ...policy, shape: throws("hunter2") });
  await using runtime = await createRuntime({ tools, sandbox, logger: { error() {} } });
  const { output } = await runtime.execute("return await tools.rows({});");
  expect(output.text).toContain("rows failed.");
  expect(output.text).not.toContain("hunter2");
});

test.each([
  [{ shape: "x" }, 'policy of "rows": { shape }: expected a function'],
  [{ outputSchema: { type: "object" } }, 'policy of "rows": { outputSchema }: expected a schema'],
])("a policy with %j is refused", (wrong, said) => {
  expect(() => fromAiSdk({ rows }, { ...policy, ...wrong } as never)).toThrow(said);
});
