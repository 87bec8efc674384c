import { expect, test } from "vitest";
import { showText } from "../../../src/cli/commands/journal/show.ts";
import { createSqliteJournal, type ExecutionEvent, type RuntimeOptions } from "../../../src/index.ts";
import { createMemoryJournal } from "../../../src/journal/index.ts";
import { scriptedModel } from "../../../src/runtime/testing.ts";
import { viewExecution } from "../../../src/serve/views/view-execution.ts";
import { makeTool } from "../../gate/open-session.ts";
import { header } from "../records.ts";
import { finding } from "./redact.ts";
import { failing, runtimeWith, throws } from "../../support/index.ts";

const SECRET = "hunter2";
const both = ["direct", "programmatic"] as const;
const give = makeTool({ name: "give", allowedCallers: both, execute: () => SECRET });
const held = makeTool({ name: "held", allowedCallers: both, approval: "always" });
const PROGRAM = "const given = await tools.give({}); await tools.held({}); return given.length;";

const open = (options: Partial<RuntimeOptions> = {}) => runtimeWith([give, held], { approve: () => true, ...options });

test("a program computes with what a tool gave, though nothing else sees it", async () => {
  await using runtime = await open({ redact: finding(SECRET) });
  expect((await runtime.execute(PROGRAM)).outcome).toEqual({ type: "completed", value: SECRET.length });
});

test("a replay stays exact where the rule leaves the journal alone, and says otherwise that redaction ended it", async () => {
  await using exact = await open({ redact: finding(SECRET, ["model", "log"]) });
  const first = await exact.execute(PROGRAM);
  expect(await exact.execution(first.execution).replay()).toEqual({ type: "identical" });

  await using runtime = await open({ redact: finding(SECRET) });
  const { execution } = await runtime.execute(PROGRAM);
  const records = await runtime.execution(execution).records();
  expect(records.filter((record) => "redacted" in record)).toMatchObject([{ type: "turn", redacted: SECRET.length }]);
  expect(await runtime.execution(execution).replay()).toEqual({ type: "unreplayable", cause: "redaction" });
});

test("one in whose journal nothing was found is replayed and taken up as ever", async () => {
  const journal = createMemoryJournal();
  const redact = finding("another secret");
  {
    await using runtime = await open({ redact, journal, approve: () => "later" });
    expect((await runtime.execute(PROGRAM, { id: "one" })).outcome.type).toBe("waiting");
  }
  await using runtime = await open({ redact, journal });
  const { outcome } = await runtime.execution("one").resume({ decisions: { "2": { allow: true } } });
  expect(outcome).toEqual({ type: "completed", value: SECRET.length });
  expect(await runtime.execution("one").replay()).toEqual({ type: "identical" });
});

test("a program whose journal was redacted keeps its process while it waits, goes on there, and ends with its host", async () => {
  const journal = createMemoryJournal();
  const waiting = Promise.withResolvers<ExecutionEvent>();
  const later: Partial<RuntimeOptions> = {
    redact: finding(SECRET),
    journal,
    approve: () => "later",
    onEvent: (event) => {
      if (event.type === "execution_waiting") waiting.resolve(event);
    },
  };
  {
    await using runtime = await open(later);
    const running = runtime.execute(PROGRAM, { id: "one" });
    expect(await waiting.promise).toMatchObject({ held: "redaction" });
    await runtime.execution("one").decide({ "2": { allow: true } });
    const { outcome, notes } = await running;
    expect(outcome).toEqual({ type: "completed", value: SECRET.length });
    expect(notes.join(" ")).toContain("its journal was redacted and does not hold what happened");
  }
});

const ask = makeTool({ name: "ask", allowedCallers: both, execute: "client" });

test("what the journal would not keep whole is not saved, and a result that it keeps in part is not loaded in silence", async () => {
  using journal = createSqliteJournal({ path: ":memory:" });
  const give = makeTool({ name: "give", allowedCallers: both, execute: () => [SECRET, "x".repeat(100_000)] });
  await using runtime = await open({ tools: [give], redact: finding(SECRET), journal });
  const failed = await runtime.execute('await save("kept", await tools.give({}));');
  expect(failed).toMatchObject({ artifacts: [], outcome: { fault: { tool: "save_artifact", code: "input_invalid" } } });
  const load = [{ programs: ['return (await load("result-1"))[0];'] }, { text: "Done." }];
  const model = scriptedModel([{ calls: [{ tool: "give", input: {} }] }, ...load, ...load]);
  const first = await runtime.agent({ model, task: "Do it." });
  await using copied = await runtime.conversation({ model, from: first.execution });
  for (const { transcript } of [first, await copied.send("Again.")])
    expect(transcript.turns.at(-2)?.results[0]?.text).toContain('"result-1" is not what was kept');
});

test("a client is not asked with an input of which the journal holds a part, and reads its input where a model does not", async () => {
  const program = `return tools.ask({ said: "hunt" + "er2" });`;
  await using runtime = await open({ tools: [ask], redact: finding(SECRET) });
  const { outcome } = await runtime.execute(program);
  expect(outcome).toMatchObject({ type: "failed", fault: { tool: "ask", code: "input_invalid" } });
  const model = scriptedModel([{ calls: [{ tool: "ask", input: { said: SECRET } }] }, { text: "Done." }]);
  expect((await runtime.agent({ model, task: "Do it." })).ending).toMatchObject({ type: "answered", answer: "Done." });
  await using other = await open({ tools: [ask], redact: finding(SECRET, ["model", "log"]) });
  expect((await other.execute(program)).outcome).toMatchObject({ calls: [{ input: { said: SECRET } }] });
});

test("what is said of a call, of which the journal would hold a part, is refused, and the program waits for another answer", async () => {
  await using runtime = await open({ tools: [ask], redact: finding(SECRET) });
  const { execution } = await runtime.execute("return (await tools.ask({})).length;");
  const refused = { code: "journal_redacted", message: expect.stringContaining("A call still waits") as string };
  await expect(runtime.execution(execution).answer({ "1": { value: SECRET } })).rejects.toMatchObject(refused);
  await expect(runtime.execution(execution).resume({ results: { "1": { value: SECRET } } })).rejects.toMatchObject(
    refused,
  );
  const { outcome } = await runtime.execution(execution).resume({ results: { "1": { value: "four" } } });
  expect(outcome).toEqual({ type: "completed", value: 4 });
});

test("what a client gave for a model's call, of which the journal holds a part, says so and is not loaded", async () => {
  const value = [SECRET, "x".repeat(100_000)];
  const asked = Promise.withResolvers<void>();
  const onEvent = (event: ExecutionEvent) => event.type === "call_started" && event.tool === "ask" && asked.resolve();
  const saying = () => asked.promise.then(() => runtime.execution("talk").answer({ "call-1": { value } }));
  const say = makeTool({ name: "say", allowedCallers: both, execute: saying });
  await using runtime = await open({ tools: [ask, say], redact: finding(SECRET), onEvent });
  const calls = ["ask", "say"].map((tool) => ({ tool, input: {} }));
  const model = scriptedModel([{ calls }, { programs: ['return (await load("result-1"))[0];'] }, { text: "Done." }]);
  const { transcript } = await runtime.agent({ model, task: "Do it.", id: "talk" });
  expect(transcript.turns[0]?.results[0]?.provenance.filtered).toBe("7 characters redacted");
  expect(transcript.turns[1]?.results[0]?.text).toContain('"result-1" is not what was kept');
});

test("a program of which the journal would hold a part is not left to other processes", async () => {
  await using runtime = await open({ redact: finding(SECRET) });
  const program = header("submitted", { program: `return "${SECRET}";` });
  await expect(runtime.journal.create(program)).rejects.toMatchObject({ code: "journal_redacted" });
});

test("the same execution is found again by another runtime of the same store", async () => {
  const journal = createMemoryJournal();
  await using one = await open({ journal, redact: finding(SECRET) });
  await using other = await open({ journal, redact: finding("x".repeat(50)) });
  const [first, second] = await Promise.all([
    one.execute("return tools.held({});", { id: "same" }),
    other.execute("return tools.held({});", { id: "same" }),
  ]);
  expect([first.outcome, second.outcome]).toEqual([
    { type: "completed", value: "ok" },
    { type: "completed", value: "ok" },
  ]);
});

test("a conversation whose journal was redacted says so while it waits, and is not taken up", async () => {
  const journal = createMemoryJournal();
  const model = scriptedModel([{ calls: [{ tool: "held", input: { said: SECRET } }] }, { text: "Done." }]);
  {
    await using runtime = await open({ redact: finding(SECRET), journal, approve: () => "later" });
    const { ending } = await runtime.agent({ model, task: "Do it.", id: "talk" });
    expect(ending).toMatchObject({
      type: "waiting",
      approvals: [{ input: { said: "[redacted 7 characters: test]" } }],
    });
  }
  await using runtime = await open({ redact: finding(SECRET), journal });
  const records = await Array.fromAsync(runtime.journal.read("talk"));
  const cannot = "only the process that has the conversation can continue it";
  expect((await viewExecution(journal, "talk")).notes).toEqual([expect.stringContaining(cannot)]);
  expect(await showText(journal, "talk")).toContain(cannot);
  const calls = records.flatMap((record) => (record.type === "call" ? [record.call] : []));
  const decisions = Object.fromEntries(calls.map((call) => [call, { allow: true }]));
  await expect(runtime.execution("talk").resume({ model, decisions })).rejects.toMatchObject(
    failing("journal_redacted", '"talk"'),
  );
});

test("a program and a task of which the journal holds less are the same under their id, and others are not", async () => {
  await using runtime = await open({ redact: finding(SECRET) });
  const program = `const word = "${SECRET}"; return word.length;`;
  const first = await runtime.execute(program, { id: "program" });
  const second = await runtime.execute(program, { id: "program" });
  expect([first.outcome, second.outcome]).toEqual([
    { type: "completed", value: SECRET.length },
    { type: "completed", value: SECRET.length },
  ]);
  const ask = (task: string) => runtime.agent({ model: scriptedModel([{ text: "Done." }]), task, id: "task" });
  for (const _ of [1, 2]) expect((await ask(`Look for ${SECRET}.`)).ending).toMatchObject({ answer: "Done." });
  for (const other of [() => runtime.execute(`${program} `, { id: "program" }), () => ask(`Look at ${SECRET}.`)])
    await expect(other()).rejects.toMatchObject({ code: "execution_exists" });
});

test("a program of which the journal holds nothing is not taken for another", async () => {
  const redact = throws("broken");
  await using runtime = await open({ redact, logger: { error: () => {} } });
  await runtime.execute("return 1;", { id: "one" });
  await expect(runtime.execute("return 2;", { id: "one" })).rejects.toMatchObject({ code: "execution_exists" });
});

test("what a program prints is told in one piece, without a secret that it prints in several", async () => {
  const events: ExecutionEvent[] = [];
  await using runtime = await open({ redact: finding("ter2\nhun"), onEvent: (event) => events.push(event) });
  await runtime.execute('console.log("hunter2"); await tools.give({}); console.log("hunter2"); return 1;');
  const told = events.filter(({ type }) => type === "output" || type === "execution_ended");
  expect(told).toMatchObject([
    { type: "output", text: "hun[redacted 8 characters: test]ter2\n" },
    { type: "execution_ended" },
  ]);
});

test("where the function fails nothing of a result leaves, and the operator reads no text of it", async () => {
  const logged: string[] = [];
  const logger = { error: (entry: object, message: string) => void logged.push(JSON.stringify(entry) + message) };
  await using runtime = await open({
    logger,
    redact: ({ text }) => {
      throw new Error(text);
    },
  });
  const { output } = await runtime.execute("return tools.give({});");
  expect(output.text).toBe('"[redacted 9 characters: redact failed]"');
  expect(logged.length).toBeGreaterThan(0);
  expect(logged.length).toBeLessThanOrEqual(20);
  expect(logged.join("\n")).not.toContain(SECRET);
});

test("a secret is found in what a program prints at once, wherever the pieces in which it is sent end", async () => {
  const events: string[] = [];
  const onEvent = (event: ExecutionEvent) => void (event.type === "output" && events.push(event.text));
  await using runtime = await open({ redact: finding(SECRET), onEvent });
  const program = `const secret = await tools.give({});
for (let length = 8180; length < 8200; length += 1) console.log("x".repeat(length) + secret);`;
  const { execution } = await runtime.execute(program);
  const journal = await runtime.execution(execution).records();
  const pieces = journal.flatMap((record) => (record.type === "turn" ? record.commands : []));
  const printed = pieces.flatMap((piece) => (piece.startsWith('{"kind":"output"') ? [piece.split("\n")[1]] : []));
  const text = printed.map((piece) => JSON.parse(piece ?? "null") as string).join("");
  for (const shown of [text, events.join("")]) {
    expect(shown.length).toBeGreaterThan(20 * 8180);
    expect(shown).not.toContain(SECRET);
    expect(shown.split("redacted").length).toBe(21);
  }
});
