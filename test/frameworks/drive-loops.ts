import { AIMessage, HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { tool } from "@langchain/core/tools";
import { Agent, Runner } from "@openai/agents";
import { isStepCount, streamText } from "ai";
import type { AsToolOptions, LoopTools, Runtime } from "../../src/index.ts";
import { aiSdkModel } from "./models/ai-sdk.ts";
import { anthropicClient } from "./models/anthropic.ts";
import { clientThat, connectBefore2026 } from "./models/mcp.ts";
import { agentsModel } from "./models/openai-agents.ts";

/** What a loop's model was told about the tool, and read as the result of its call. */
export interface Seen {
  readonly description: string;
  readonly schema: unknown;
  /** Undefined if the loop ended without a result. */
  readonly text: string | undefined;
  /** Whether the loop marked the result as failed; undefined in a loop that has no mark. */
  readonly failed: boolean | undefined;
  readonly progress: readonly string[];
  /** What ended the loop, if it did not come to the answer. */
  readonly error: unknown;
}

export interface DriveOptions {
  readonly signal?: AbortSignal;
  readonly asTool?: AsToolOptions;
}

/** Runs a loop whose model calls `run_program` once, with this input, and answers after it. */
export type Drive = (runtime: Runtime, input: unknown, options?: DriveOptions) => Promise<Seen>;

const NAME = "run_program";

const settled = <Value>(work: Promise<Value>) =>
  work.then(
    (value) => [value, undefined] as const,
    (error: unknown) => [undefined, error] as const,
  );

const driveAiSdk: Drive = async (runtime, input, { signal, asTool } = {}) => {
  const { model } = aiSdkModel(input);
  const tools = await runtime.asTool("ai-sdk", asTool);
  const stopWhen = isStepCount(3);
  let error: unknown;
  const onError = (event: { readonly error: unknown }) => {
    error = event.error;
  };
  const result = streamText({ model, tools, stopWhen, prompt: "task", onError, abortSignal: signal });
  const progress: string[] = [];
  for await (const part of result.fullStream) {
    if (part.type === "tool-result" && part.preliminary === true) progress.push(part.output as string);
    if (part.type === "abort") error = signal?.reason;
  }
  const [first, second] = model.doStreamCalls;
  const declared = first?.tools?.[0];
  const message = second?.prompt.at(-1);
  const content = message?.role === "tool" ? message.content[0] : undefined;
  const output = content?.type === "tool-result" ? content.output : undefined;
  return {
    description: declared?.type === "function" ? (declared.description ?? "") : "",
    schema: declared?.type === "function" ? declared.inputSchema : undefined,
    text: output?.type === "text" || output?.type === "error-text" ? output.value : undefined,
    failed: output?.type.startsWith("error"),
    // The result is the last thing that the tool yields, so it comes as a preliminary result too.
    progress: progress.slice(0, output?.type === "text" ? -1 : undefined),
    error,
  };
};

const driveAnthropic: Drive = async (runtime, input, { signal, asTool } = {}) => {
  const { client, asked } = anthropicClient(input);
  const { run_program } = await runtime.asTool("anthropic", asTool);
  const messages = [{ role: "user" as const, content: "task" }];
  const body = { model: "test", max_tokens: 100, messages, tools: [run_program] };
  const [, error] = await settled(client.beta.messages.toolRunner(body, { signal }).runUntilDone());
  const block = asked[1]?.messages.at(-1)?.content[0];
  return {
    description: asked[0]?.tools[0]?.description ?? "",
    schema: asked[0]?.tools[0]?.input_schema,
    text: block?.content,
    failed: block && block.is_error === true,
    progress: [],
    error,
  };
};

const driveOpenAiAgents: Drive = async (runtime, input, { signal, asTool } = {}) => {
  const model = agentsModel(input);
  const { run_program } = await runtime.asTool("openai-agents", asTool);
  const agent = new Agent({ name: "tester", model, tools: [run_program] });
  const [, error] = await settled(new Runner({ tracingDisabled: true }).run(agent, "task", { signal }));
  const declared = model.requests[0]?.tools[0];
  return {
    description: declared?.type === "function" ? declared.description : "",
    schema: declared?.type === "function" ? declared.parameters : undefined,
    text: model.results[0],
    failed: undefined,
    progress: [],
    error,
  };
};

const driveLangChain: Drive = async (runtime, input, { signal, asTool } = {}) => {
  const { func, fields } = (await runtime.asTool("langchain", asTool)).run_program;
  const run_program = tool(func, fields);
  const fake = fakeModel()
    .respondWithTools([{ name: NAME, args: input as Record<string, unknown>, id: "1" }])
    .respond(new AIMessage("answer"));
  const model = fake.bindTools([run_program]);
  const asked = await model.invoke([new HumanMessage("task")]);
  const progress: string[] = [];
  const callbacks = [{ handleToolEvent: (chunk: unknown) => void progress.push(chunk as string) }];
  const [message, error] = await settled(
    run_program.invoke(asked.tool_calls?.[0], { callbacks, signal }) as Promise<ToolMessage>,
  );
  if (message) await model.invoke([new HumanMessage("task"), asked, message]);
  return {
    description: run_program.description,
    schema: run_program.schema,
    // `ToolNode`, which makes a message of what a tool throws, is in another package: here the error is the result.
    text: (message?.content as string | undefined) ?? (error instanceof Error ? error.message : undefined),
    failed: error !== undefined,
    progress,
    error,
  };
};

const driveMcp: Drive = async (runtime, input, { signal, asTool } = {}) => {
  const { client } = clientThat();
  await using _ = await connectBefore2026(runtime, client, asTool);
  const { tools } = await client.listTools();
  const progress: string[] = [];
  const onprogress = ({ message = "" }) => void progress.push(message);
  const call = client.callTool({ name: NAME, arguments: input as Record<string, unknown> }, { onprogress, signal });
  const [result, error] = await settled(call);
  const block = result?.content[0];
  return {
    description: tools[0]?.description ?? "",
    schema: tools[0]?.inputSchema,
    text: block?.type === "text" ? block.text : undefined,
    failed: result && result.isError === true,
    progress,
    error,
  };
};

export const LOOPS: readonly { readonly name: keyof LoopTools; readonly drive: Drive }[] = [
  { name: "ai-sdk", drive: driveAiSdk },
  { name: "anthropic", drive: driveAnthropic },
  { name: "openai-agents", drive: driveOpenAiAgents },
  { name: "langchain", drive: driveLangChain },
  { name: "mcp", drive: driveMcp },
];
