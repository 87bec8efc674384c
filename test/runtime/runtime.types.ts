/* Checked by `tsc` alone: each line under a `@ts-expect-error` must not compile, and every other must. */
import pino from "pino";
import { expectTypeOf } from "vitest";
import { z } from "zod";
import {
  agentAsTool,
  type CallContext,
  createRuntime,
  defineTool,
  type AgentReport,
  type Logger,
  type RecoverOptions,
  type Report,
  type Runtime,
  type Tool,
  type Unrecovered,
} from "../../src/index.ts";
import { createMemorySandbox, scriptedModel } from "../../src/runtime/testing.ts";

interface App {
  readonly user: string;
}

const base = { name: "a", description: "b", allowedCallers: ["direct"], effect: "read" } as const;
const input = z.object({ id: z.string() });
const sandbox = createMemorySandbox();
const model = scriptedModel([]);

// A tool whose handler reads no context is a plain tool, and fits in every runtime.
const plain = defineTool({ ...base, inputSchema: input, execute: ({ id }, { callId }) => id + callId });
expectTypeOf(plain).toEqualTypeOf<Tool>();
expectTypeOf(plain).toExtend<Tool<App>>();

// One whose handler says which context it reads needs a runtime with that context. Its input is typed all the same.
const personal = defineTool({
  ...base,
  inputSchema: input,
  outputSchema: z.string(),
  execute: ({ id }, { context, tenant }: CallContext<App>) => {
    expectTypeOf(id).toBeString();
    expectTypeOf(tenant).toBeString();
    return context.user;
  },
});
expectTypeOf(personal).toEqualTypeOf<Tool<App>>();
expectTypeOf(personal).not.toExtend<Tool>();

const runtime = await createRuntime<App>({
  tools: [plain, personal],
  sandbox,
  approve: ({ context, tenant }) => context.user === tenant,
});
expectTypeOf(runtime).toEqualTypeOf<Runtime<App>>();
await runtime.execute("return 1", { context: { user: "ann" } });
await runtime.agent({ model, task: "Do it.", context: { user: "ann" }, tools: ["a", personal] });
await runtime.call({ tool: "a", input: {}, caller: "direct", context: { user: "ann" } });
runtime.derive({ tools: [personal] });
// @ts-expect-error the context is missing
await runtime.execute("return 1");
// @ts-expect-error it is missing here too
await runtime.execute("return 1", { limits: {} });
// @ts-expect-error a context of another type
await runtime.execute("return 1", { context: { name: "ann" } });
// @ts-expect-error the context is missing
await runtime.agent({ model, task: "Do it." });
// @ts-expect-error the context is missing
await runtime.call({ tool: "a", input: {}, caller: "direct" });
await runtime.execute("return 1", { context: { user: "ann" }, approve: ({ context }) => context.user === "ann" });

// The type of the context is inferred from the tools. Without tools that read it, it is not asked for.
expectTypeOf(await createRuntime({ tools: [plain, personal], sandbox })).toEqualTypeOf<Runtime<App>>();
const simple = await createRuntime({ tools: [plain], sandbox });
expectTypeOf(simple).toEqualTypeOf<Runtime>();
await simple.execute("return 1");
await simple.execute("return 1", { context: 5 });
const maybe = await createRuntime<App | undefined>({ tools: [plain], sandbox });
await maybe.execute("return 1");

// @ts-expect-error there is no default caller
await simple.call({ tool: "a", input: {} });
const called = await simple.call({ tool: "a", input: {}, caller: "direct" });
if (called.ok) expectTypeOf(called.value).toBeUnknown();
else expectTypeOf(called.message).toBeString();

// An agent needs the context of its tools.
const agent = { name: "c", description: "d", model, allowedCallers: ["direct"] } as const;
expectTypeOf(agentAsTool({ ...agent, tools: [personal] })).toEqualTypeOf<Tool<App>>();
expectTypeOf(agentAsTool({ ...agent, tools: [plain] })).toEqualTypeOf<Tool>();

// Loggers.
expectTypeOf(console).toExtend<Logger>();
expectTypeOf(pino()).toExtend<Logger>();
await createRuntime({ tools: [], sandbox, logger: pino() });
await createRuntime({ tools: [], sandbox, logger: { error: () => {} } });

// A limit that is undefined counts as left out.
await createRuntime({ tools: [plain], limits: { calls: undefined, wallMs: 1000 } });

// `recover` gives conversations only where it may be given models, also where that is not known before.
const recovering = await createRuntime({ tools: [], sandbox });
expectTypeOf(recovering.recover()).toEqualTypeOf<AsyncGenerator<Report | Unrecovered>>();
expectTypeOf(recovering.recover({ concurrency: 2 })).toEqualTypeOf<AsyncGenerator<Report | Unrecovered>>();
expectTypeOf(recovering.recover({ model: () => model })).toEqualTypeOf<
  AsyncGenerator<Report | AgentReport | Unrecovered>
>();
declare const recoverOptions: RecoverOptions;
expectTypeOf(recovering.recover(recoverOptions)).toEqualTypeOf<AsyncGenerator<Report | AgentReport | Unrecovered>>();

// The type of what the result's schema gives out is that of the report's value.
const typed = await runtime.execute("return 1", { context: { user: "ann" }, result: z.object({ n: z.number() }) });
expectTypeOf(typed.value).toEqualTypeOf<{ n: number } | undefined>();
const resumed = await runtime
  .execution("id")
  .resume({ context: { user: "ann" }, result: z.string().transform(Number) });
expectTypeOf(resumed.value).toEqualTypeOf<number | undefined>();
expectTypeOf<Report["value"]>().toBeUnknown();
// @ts-expect-error a plain JSON Schema is no schema
await runtime.execute("return 1", { context: { user: "ann" }, result: { type: "object" } });

// An answer has the type of its schema; without one it is text.
const Reply = z.object({ reply: z.string(), euros: z.number().transform(String) });
const answered = await runtime.agent({ model, task: "Do it.", answer: Reply, context: { user: "ann" } });
expectTypeOf(answered.answer).toEqualTypeOf<{ reply: string; euros: string } | undefined>();
const untyped = await runtime.agent({ model, task: "Do it.", context: { user: "ann" } });
expectTypeOf(untyped.answer).toEqualTypeOf<string | undefined>();
const talk = await runtime.conversation({ model, answer: Reply, context: { user: "ann" } });
expectTypeOf((await talk.send("Go on.")).answer).toEqualTypeOf<{ reply: string; euros: string } | undefined>();
// @ts-expect-error a schema is needed, not a type's name
await runtime.agent({ model, task: "Do it.", answer: "number", context: { user: "ann" } });
