import { expect, test } from "vitest";
import { z } from "zod";
import { type Tool } from "../../../src/index.ts";
import { type Journal } from "../../../src/journal/index.ts";
import { scriptedModel, type ScriptedStep } from "../../../src/runtime/testing.ts";
import { agentOf, makeTool } from "../../support/tools.ts";
import { cutAfter, recorded } from "../../support/journal-with.ts";
import { resultsBefore, talk, TEXTS } from "../talk.ts";
import { testOfAll } from "../../support/all-tests.ts";
import { answered, executed, runtimeWith } from "../../support/runtime.ts";

const clerkWith = (options: object) => agentOf("clerk", "inherit", options);
const inheriting = (options: object = {}) => clerkWith(options);
const usage = { inputTokens: 30, outputTokens: 20 };
/** A script for a conversation and for the agents that inherit its model: agents answer what they were asked, in capitals. */
const both = (...steps: readonly ScriptedStep[]): readonly ScriptedStep[] =>
  steps.map(
    (step): ScriptedStep =>
      (moment) =>
        moment.said[0] === "Do it."
          ? typeof step === "function"
            ? step(moment)
            : step
          : { text: moment.said[0]?.toUpperCase() ?? "", usage },
  );

test("an agent that inherits works with the model that calls it, directly and from a program, within its budget", async () => {
  const calls = [{ tool: "clerk", input: { task: "a" } }];
  const direct = await talk(both({ calls, usage }, TEXTS), { tools: [inheriting()], programs: "none" });
  expect([direct.answer, direct.usage.inputTokens]).toEqual(['"A"', 60]);
  const program = 'return Promise.all(["a", "b"].map((task) => tools.clerk({ task })));';
  const programmed = await talk(both({ programs: [program], usage }, TEXTS), { tools: [inheriting()] });
  expect(programmed.answer).toBe('["A","B"]');
  expect(programmed.model.conversations).toHaveLength(3);
});

test("it inherits the model that took over, and the agents of agents inherit too", async () => {
  const inner = inheriting({ name: "inner" });
  const outer = inheriting({ name: "outer", tools: [inner] });
  const failing = scriptedModel([{ failure: { code: "key_refused", message: "no" } }], { name: "scripted:first" });
  const second: ScriptedStep = ({ said, opening, results }) => {
    if (results.length > 0) return { text: `${said[0]} by second <- ${results[0]?.text}` };
    const [tool] = opening.tools;
    return tool ? { calls: [{ tool: tool.name, input: { task: tool.name } }] } : { text: `${said[0]} by second` };
  };
  const model = scriptedModel([second, second], { name: "scripted:second" });
  const { answer } = await answered([outer], { model: failing, fallbacks: [model], task: "Do it.", programs: "none" });
  expect(answer).toBe('Do it. by second <- "outer by second <- \\"inner by second\\""');
});

test("without a conversation there is no model to inherit, which is said", async () => {
  await using runtime = await runtimeWith([inheriting()]);
  const said = "clerk works with the model of the conversation that calls it, and no conversation does.";
  expect(await runtime.call({ tool: "clerk", caller: "direct", input: { task: "x" } })).toMatchObject({
    message: said,
  });
  const { output } = await runtime.execute('return tools.clerk({ task: "x" });');
  expect(output.text).toContain(said);
});

test("an inherited model that cannot do what the agent needs fails the call, and not the conversation", async () => {
  const clerk = inheriting({ programs: "hosted", tools: [makeTool()] });
  const calls = [{ tool: "clerk", input: { task: "a" } }];
  const talked = await talk(both({ calls }, { text: "Done." }), {
    tools: [clerk],
    programs: "none",
    scripted: { hostsPrograms: false },
  });
  expect(resultsBefore(talked, 1)).toMatchObject([{ isError: true }]);
  expect(talked.ending.type).toBe("answered");
});

test("a tool that is enabled for some models asks for the model that is inherited", async () => {
  const asked: (string | undefined)[] = [];
  const tool = makeTool({
    allowedCallers: ["direct"],
    enabled: ({ model }: { model: string | undefined }) => asked.push(model) > 0,
  });
  await talk(both({ calls: [{ tool: "clerk", input: { task: "a" } }] }, TEXTS), {
    tools: [inheriting({ tools: [tool] })],
    programs: "none",
  });
  expect(asked).toEqual(["scripted:script"]);
});

test("with a schema the result is the value, changed by the schema once, and the tool tells its type", async () => {
  const answer = z.object({ units: z.number().overwrite((units) => units + 1) });
  const clerk = clerkWith({ model: scriptedModel([{ text: '```json\n{"units":4}\n```' }]), answer });
  const { outcome } = await executed([clerk], 'return tools.clerk({ task: "x" });');
  expect(outcome).toEqual({ type: "completed", value: { units: 5 } });
  const plain = clerkWith({ model: scriptedModel([]), answer: z.object({ units: z.number() }) });
  await using other = await runtimeWith([plain]);
  expect(other.declarations()).toContain(
    "tools.clerk(input: { task: string /* not empty; what to do, with all that is needed to do it */ }): Promise<{ units: number }>",
  );
});

test("an answer that does not fit is asked for once more, and then the call fails", async () => {
  const answer = z.object({ units: z.number() });
  const mended = clerkWith({ model: scriptedModel([{ text: "four" }, { text: '{"units":4}' }]), answer });
  const broken = clerkWith({ name: "other", model: scriptedModel([{ text: "four" }, { text: "five" }]), answer });
  await using runtime = await runtimeWith([mended, broken]);
  const call = (tool: string) => runtime.call({ tool, caller: "direct", input: { task: "x" } });
  expect(await call("clerk")).toMatchObject({ value: { units: 4 } });
  expect(await call("other")).toMatchObject({ message: expect.stringContaining("other has no answer.") as string });
});

test("stopWhen ends an agent, and a model of its fallbacks goes on with another text of instructions", async () => {
  const tool = makeTool({ allowedCallers: ["direct"] });
  const turn: ScriptedStep = { calls: [{ tool: "t" }] };
  const stopped = clerkWith({ model: scriptedModel([turn, turn]), tools: [tool], loop: { stopWhen: () => true } });
  const second = scriptedModel([({ opening }) => ({ text: opening.instructions ?? "" })], { name: "scripted:second" });
  const failing = scriptedModel([{ failure: { code: "key_refused", message: "no" } }], { name: "scripted:first" });
  const taken = clerkWith({
    name: "other",
    model: failing,
    fallbacks: [second],
    instructions: { "scripted:first": "First.", "scripted:second": "Second." },
  });
  await using runtime = await runtimeWith([stopped, taken]);
  const call = (name: string) => runtime.call({ tool: name, caller: "direct", input: { task: "x" } });
  expect(await call("clerk")).toMatchObject({ message: expect.stringContaining("clerk has no answer.") as string });
  expect(await call("other")).toMatchObject({ value: expect.stringContaining("Second.") as string });
});

test.each([
  [{ model: "inherited" }, "agentAsTool({ model }): expected a model"],
  [{ answer: { type: "object", properties: {} } }, "agentAsTool({ answer }): this is a plain JSON Schema. Wrap it"],
  [{ loop: { compact: () => [] } }, 'agentAsTool({ loop }): there is no option "compact"'],
])("%j is refused by its name when the agent is made", (options, message) => {
  expect(() => inheriting(options)).toThrow(message);
});

/** The same script, which tells how often it was asked for a turn. */
function counted(script: readonly ScriptedStep[]) {
  const asked = { turns: 0 };
  const steps = script.map((step): ScriptedStep => (moment) => {
    asked.turns += 1;
    return typeof step === "function" ? step(moment) : step;
  });
  return { asked, model: scriptedModel(steps) };
}

testOfAll(
  "twenty agents within one budget end the same wherever the host died, and no recorded turn is asked for again",
  async () => {
    const program = "return Promise.all(Array.from({ length: 20 }, (_, n) => tools.clerk({ task: `task ${n}` })));";
    const script = both({ programs: [program], usage }, TEXTS);
    const tools: readonly Tool[] = [inheriting({ concurrency: 20 })];
    const { journal, appended } = recorded();
    const first = counted(script);
    await using runtime = await runtimeWith(tools, { journal });
    const options = { task: "Do it.", id: "one", loop: { maxTokens: 2000 } } as const;
    const whole = await runtime.agent({ model: first.model, ...options });
    expect(whole.answer).toBe(JSON.stringify(Array.from({ length: 20 }, (_, n) => `TASK ${n}`)));
    expect(whole.usage).toMatchObject({ inputTokens: 630, outputTokens: 420 });
    expect(first.asked.turns).toBe(22);
    const left = new Set<number>();
    for (let prefix = 1; prefix <= appended.length; prefix += 1) {
      const copy = await cutAfter(appended, prefix);
      const recorded = await turnsIn(copy);
      const again = counted(script);
      await using other = await runtimeWith(tools, { journal: copy, leaseMs: 100 });
      const report = await other.agent({ model: again.model, ...options });
      const ended = [report.answer, report.usage, again.asked.turns];
      expect([prefix, ...ended]).toEqual([prefix, whole.answer, whole.usage, 22 - recorded]);
      left.add(again.asked.turns);
    }
    expect(left.size).toBe(23);
  },
  300_000,
);

test("what agents of a program have used counts again in the budget of the conversation that is taken up", async () => {
  const program =
    'await tools.clerk({ task: "a" }); await tools.wait({}); return await tools.clerk({ task: "b" }).catch(({ message }) => message);';
  const wait = makeTool({ name: "wait", approval: "always" });
  const tools: readonly Tool[] = [inheriting(), wait];
  const model = scriptedModel(both({ programs: [program], usage }, TEXTS));
  await using runtime = await runtimeWith(tools, { approve: () => "later" });
  const { execution, ending } = await runtime.agent({ model, task: "Do it.", loop: { maxTokens: 100 } });
  expect(ending.type).toBe("waiting");
  const report = await runtime.execution(execution).resume({ model, decisions: { "call-1/2": { allow: true } } });
  expect(report.usage).toMatchObject({ inputTokens: 60, outputTokens: 40 });
  expect(report.transcript.turns[0]?.results[0]?.text).toContain("0 tokens (maxTokens)");
});

test("the calls of agents of a program are in the report of a conversation that is taken up", async () => {
  const program = 'const a = await tools.clerk({ task: "a" }); await tools.wait({}); return a;';
  const t = makeTool({ name: "t", allowedCallers: ["direct"] });
  const clerk = clerkWith({ model: scriptedModel([{ calls: [{ tool: "t" }] }, { text: "found", usage }]), tools: [t] });
  const tools: readonly Tool[] = [clerk, makeTool({ name: "wait", approval: "always" })];
  const whole = await talk([{ programs: [program], usage }, { text: "Done." }], { tools, approve: () => true });
  const model = scriptedModel([{ programs: [program], usage }, { text: "Done." }]);
  await using runtime = await runtimeWith(tools, { approve: () => "later" });
  const { execution } = await runtime.agent({ model, task: "Do it." });
  const report = await runtime.execution(execution).resume({ model, decisions: { "call-1/2": { allow: true } } });
  const namesOf = (calls: readonly { readonly callId: string }[]) => calls.map(({ callId }) => callId).toSorted();
  expect(namesOf(report.calls)).toEqual(namesOf(whole.calls));
  expect(report.usage).toEqual(whole.usage);
});

/** How many turns of models are recorded in a journal, of all its conversations. */
async function turnsIn(journal: Journal): Promise<number> {
  let turns = 0;
  for await (const { execution } of journal.list())
    for await (const record of journal.read(execution))
      if (record.type === "message" && record.from === "model") turns += 1;
  return turns;
}
