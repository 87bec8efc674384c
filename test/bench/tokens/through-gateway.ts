/*
 * The tasks through the gateway: the vendors' clients answer the calls of the program, and the requests that the model behind
 * the gateway gets are compared with those of this package's own loop for the same tools and program. Prints a row for each
 * task and fails if tokens differ. Arguments: the tasks. Names of tools have no dots on Anthropic's wire, and no results are
 * declared there, so that each client has an own loop beside it with what its wire can say.
 */
import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { readFileSync } from "node:fs";
import { table } from "../../../src/cli/terminal/print.ts";
import { createRuntime, defineTool, jsonSchema, type Tool } from "../../../src/index.ts";
import { createMemorySandbox } from "../../../src/testing.ts";
import { countTokens } from "../../../src/tools/count-tokens.ts";
import { readJsonSchema } from "../../../src/tools/schema.ts";
import { without } from "../../../src/values/fields.ts";
import { chatWire } from "../../models/openai/chat/wire.ts";
import { serve, type Served } from "../../models/wire.ts";
import { openGateway, type OpenGateway } from "../../serve/gateway/gateways.ts";

/** Parts of the largest task's history, which a client without a store sends whole. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;
const LIMITS = { wallMs: 600_000 };

interface Task {
  readonly question: string;
  readonly source: string;
  readonly answer: string;
  readonly tools: readonly Tool[];
}

interface Counts {
  calls: number;
  requests: number;
}

/** What a client can say of tools: their names, and whether results are declared. */
interface Saying {
  readonly nameOf: (name: string) => string;
  readonly hasOutputs: boolean;
}

async function read(name: string): Promise<Task> {
  const folder = new URL(`../../../examples/${name}/`, import.meta.url);
  const { question, program, answer } = JSON.parse(readFileSync(new URL("task.json", folder), "utf8")) as {
    readonly question: string;
    readonly program: string;
    readonly answer: unknown;
  };
  const { default: tools } = (await import(new URL("tools.ts", folder).href)) as { readonly default: readonly Tool[] };
  const source = readFileSync(new URL(program, folder), "utf8");
  return { question, source, answer: JSON.stringify(answer), tools };
}

function inputOf({ input }: Tool): Record<string, unknown> {
  return without(readJsonSchema(input, "input"), "$schema");
}

function outputOf({ output }: Tool): Record<string, unknown> | undefined {
  return output && without(readJsonSchema(output, "output"), "$schema");
}

function renamed({ source, tools }: Task, { nameOf }: Saying): string {
  return tools.reduce((text, { name }) => text.replaceAll(`tools.${name}(`, `tools.${nameOf(name)}(`), source);
}

/** What the client runs for a call, as the text that it sends. */
async function run(tool: Tool, input: unknown): Promise<string> {
  if (tool.handler === "client") throw new Error(`${tool.name} has no handler.`);
  const value = await tool.handler(input, { signal: new AbortController().signal } as never);
  return typeof value === "string" ? value : JSON.stringify(value);
}

const script = (task: Task, saying: Saying) => [{ calls: [{ program: renamed(task, saying) }] }, { text: task.answer }];

async function ownRequests(task: Task, saying: Saying): Promise<Served["asked"]> {
  await using served = await serve(chatWire, script(task, saying));
  const tools = task.tools.map((tool) => {
    const output = saying.hasOutputs ? outputOf(tool) : undefined;
    return defineTool({
      name: saying.nameOf(tool.name),
      description: tool.description,
      input: jsonSchema(inputOf(tool)),
      ...(output === undefined ? {} : { output: jsonSchema(output) }),
      unknownFields: "allow",
      allowedCallers: ["programmatic"],
      effect: "read",
      handler: (input) => (tool.handler as (given: unknown, context: never) => unknown)(input, {} as never),
    });
  });
  await using runtime = await createRuntime({ tools, sandbox: createMemorySandbox(), limits: LIMITS });
  await runtime.agent({ model: served.model(), task: task.question });
  return served.asked;
}

type Client = (gateway: OpenGateway, task: Task, saying: Saying, counts: Counts) => Promise<void>;

const anthropic: Client = async (gateway, { question, tools }, { nameOf }, counts) => {
  const byName = new Map(tools.map((tool) => [nameOf(tool.name), tool] as const));
  const declared = tools.map((tool) => ({
    name: nameOf(tool.name),
    description: tool.description,
    input_schema: inputOf(tool) as Anthropic.Tool.InputSchema,
    allowed_callers: ["code_execution_20260120" as const],
  }));
  const history: Anthropic.MessageParam[] = [{ role: "user", content: question }];
  let container: string | null = null;
  for (;;) {
    counts.requests += 1;
    const message: Anthropic.Message = await gateway.anthropic().messages.create({
      model: "gpt-test",
      max_tokens: 4000,
      container,
      tools: [{ type: "code_execution_20260120", name: "code_execution" }, ...declared],
      messages: history,
    });
    if (message.stop_reason !== "tool_use") return;
    container = message.container?.id ?? null;
    const calls = message.content.filter((block) => block.type === "tool_use");
    counts.calls += calls.length;
    const content = await Promise.all(
      calls.map(async ({ id, name, input }) => ({
        type: "tool_result" as const,
        tool_use_id: id,
        content: await run(byName.get(name) as Tool, input),
      })),
    );
    history.push({ role: "assistant", content: message.content as Anthropic.ContentBlockParam[] });
    history.push({ role: "user", content });
  }
};

/** Tools with dots in their names are those of a namespace. */
function declaredGroups(tools: readonly Tool[]): readonly object[] {
  const functionOf = (tool: Tool) => ({
    type: "function",
    name: tool.name.slice(tool.name.indexOf(".") + 1),
    description: tool.description,
    parameters: inputOf(tool),
    strict: false,
    ...(tool.output && { output_schema: outputOf(tool) }),
    allowed_callers: ["programmatic"],
  });
  const groups = Map.groupBy(tools, ({ name }) => (name.includes(".") ? name.slice(0, name.indexOf(".")) : ""));
  return [...groups].flatMap(([name, all]): readonly object[] =>
    name === "" ? all.map(functionOf) : [{ type: "namespace", name, description: name, tools: all.map(functionOf) }],
  );
}

const openai =
  (store: boolean): Client =>
  async (gateway, { question, tools }, _, counts) => {
    const declared = [{ type: "programmatic_tool_calling" }, ...declaredGroups(tools)] as OpenAI.Responses.Tool[];
    let input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: question }];
    let previous: string | undefined;
    for (;;) {
      counts.requests += 1;
      const response: OpenAI.Responses.Response = await gateway.openai().responses.create({
        model: "gpt-test",
        store,
        tools: declared,
        input,
        ...(previous === undefined ? {} : { previous_response_id: previous }),
      });
      const calls = response.output.filter((item) => item.type === "function_call") as unknown as readonly {
        readonly call_id: string;
        readonly name: string;
        readonly namespace?: string;
        readonly arguments: string;
        readonly caller: unknown;
      }[];
      if (calls.length === 0) return;
      counts.calls += calls.length;
      const outputs = await Promise.all(
        calls.map(async ({ call_id, name, namespace, arguments: text, caller }) => {
          const whole = namespace === undefined ? name : `${namespace}.${name}`;
          const tool = tools.find((one) => one.name === whole) as Tool;
          return { type: "function_call_output", call_id, output: await run(tool, JSON.parse(text)), caller };
        }),
      );
      const given = outputs as unknown as OpenAI.Responses.ResponseInputItem[];
      input = store ? given : [...input, ...(response.output as OpenAI.Responses.ResponseInputItem[]), ...given];
      if (store) previous = response.id;
    }
  };

const PLAIN: Saying = { nameOf: (name) => name.replaceAll(".", "_"), hasOutputs: false };
const WHOLE: Saying = { nameOf: (name) => name, hasOutputs: true };
const CLIENTS: readonly (readonly [name: string, saying: Saying, client: Client])[] = [
  ["@anthropic-ai/sdk", PLAIN, anthropic],
  ["openai, stored", WHOLE, openai(true)],
  ["openai, not stored", WHOLE, openai(false)],
];

/** A request without what a client sets, and without how long calls may take, which is true of tools with a handler alone. */
function framed(body: Record<string, unknown>): string {
  return JSON.stringify(without(without(body, "max_tokens"), "reasoning_effort")).replace(
    " calls, each up to 60 s. You",
    " calls. You",
  );
}

const tokensOf = (asked: Served["asked"]) => asked.reduce((sum, { body }) => sum + countTokens(framed(body)), 0);

const rows: string[][] = [];
let differing = 0;
for (const name of process.argv.slice(2)) {
  const task = await read(name);
  for (const [client, saying, ask] of CLIENTS) {
    const own = await ownRequests(task, saying);
    await using served = await serve(chatWire, script(task, saying));
    await using gateway = await openGateway(served.model(), {
      maxBodyBytes: MAX_BODY_BYTES,
      pauseMs: 600_000,
      runtime: { limits: LIMITS },
    });
    const counts: Counts = { calls: 0, requests: 0 };
    await ask(gateway, task, saying, counts);
    const isSame =
      JSON.stringify(served.asked.map(({ body }) => framed(body))) ===
      JSON.stringify(own.map(({ body }) => framed(body)));
    if (!isSame) differing += 1;
    const [through, alone] = [tokensOf(served.asked), tokensOf(own)];
    const figures = [counts.calls, counts.requests, through, alone].map((figure) => figure.toLocaleString("en"));
    rows.push([name, client, ...figures, isSame ? "the same bytes" : "differs"]);
    if (process.env["SHOW"] && !isSame)
      for (const [index, { body }] of served.asked.entries())
        process.stderr.write(`${framed(body)}\n\n${framed(own[index]?.body ?? {})}\n\n\n`);
  }
}
const head = ["task", "client", "calls", "requests", "tokens to the model", "own loop", ""];
process.stdout.write(
  `\n## Through the gateway: what the model behind it is sent (o200k_base)\n\n${table(head, rows)}\n`,
);
if (differing > 0) process.exitCode = 1;
