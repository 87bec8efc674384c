import { expect, test } from "vitest";
import { PortcullisError } from "../../src/errors.ts";
import { createRuntime } from "../../src/index.ts";
import { checkTranscript } from "../../src/agent/check-transcript.ts";
import type { Transcript } from "../../src/reports.ts";
import { createMemorySandbox, scriptedModel } from "../../src/testing.ts";
import { makeTool } from "../gate/open-session.ts";
import { talk } from "./talk.ts";
import { timeless } from "../support/timeless.ts";

const tools = [makeTool({ allowedCallers: ["direct"] })];
const script = [{ text: "I look.", calls: [{ id: "c1", tool: "t" }] }, { text: "4" }];

async function saved(): Promise<Transcript> {
  const { transcript } = await talk(script, { tools });
  return JSON.parse(JSON.stringify(transcript)) as Transcript;
}

test("a transcript that was saved and read again is one", async () => {
  const transcript = await saved();
  expect(() => checkTranscript(transcript, "it")).not.toThrow();
});

test("the turns of a transcript are a script for the same conversation", async () => {
  const { turns, task } = await saved();
  await using runtime = await createRuntime({ tools, sandbox: createMemorySandbox() });
  const { transcript } = await runtime.agent({ model: scriptedModel(turns.map(({ turn }) => turn)), task });
  expect(timeless(transcript.turns)).toEqual(timeless(turns));
});

test.each<[string, (transcript: Transcript) => unknown, number, string]>([
  [
    "a result is missing",
    ({ turns }) => ({ turns: [{ ...turns[0], results: [] }, turns[1]] }),
    1,
    "Its calls and their results are not the same.",
  ],
  [
    "a call is there twice",
    ({ turns }) => ({ turns: [turns[0], turns[0], turns[1]] }),
    2,
    "The call c1 is there twice.",
  ],
  [
    "something follows the answer",
    ({ turns }) => ({ turns: [turns[1], turns[0]] }),
    1,
    "It ended the conversation (answered), and another turn follows.",
  ],
  [
    "the answer is another",
    () => ({ ending: { type: "answered", answer: "5" } }),
    2,
    "The ending answered does not follow from it.",
  ],
  [
    "it had more turns",
    ({ turns }) => ({ turns: [turns[0]], ending: { type: "turns_spent", allowed: 7 } }),
    1,
    "The ending turns_spent does not follow from it.",
  ],
  [
    "it had more tokens",
    ({ turns }) => ({ turns: [turns[0]], ending: { type: "tokens_spent", allowed: 7, seen: 5 } }),
    1,
    "The ending tokens_spent does not follow from it.",
  ],
  [
    "the provider's failure is unknown",
    ({ turns }) => ({ turns: [turns[0]], ending: { type: "provider_failed" } }),
    1,
    "The ending provider_failed does not follow from it.",
  ],
  [
    "it ended though it had answered",
    () => ({ ending: { type: "turns_spent", allowed: 2 } }),
    2,
    "The ending turns_spent does not follow from it.",
  ],
])("a transcript in which %s cannot have been", async (_, change, turn, detail) => {
  const transcript = await saved();
  const changed = { ...transcript, ...(change(transcript) as Partial<Transcript>) };
  expect(() => checkTranscript(changed, "it")).toThrow(
    new PortcullisError("option_invalid", `it: the transcript cannot have been: turn ${turn}: ${detail}`),
  );
});

test.each([
  null,
  5,
  {},
  { format: 2 },
  { format: 1, turns: [], ending: null },
  { format: 1, turns: [{}], ending: { type: "cancelled" } },
  ...[
    { turn: { text: "", calls: [null], end: { type: "called" } }, results: [{ callId: "a" }] },
    { turn: { text: "", calls: [{}], end: { type: "called" } }, results: [{}] },
    { turn: { text: "", calls: [{ id: "a" }], end: { type: "called" } }, results: [null] },
    { turn: { text: "", calls: [], end: { type: "elsewhere" } }, results: [] },
    { turn: { calls: [], end: { type: "answered" } }, results: [] },
    { turn: { text: "", calls: [{ id: "a" }], end: { type: "called" } }, results: [{ callId: "a" }] },
  ].map((turn) => ({ format: 1, turns: [turn], ending: { type: "cancelled" } })),
])("what is no transcript is refused: %j", (value) => {
  expect(() => checkTranscript(value as unknown as Transcript, "it")).toThrow(/^it: (?!the transcript cannot)/);
});

test("a transcript whose ending has malformed reasons or counts is inconsistent", () => {
  const deep: unknown = JSON.parse(`${"[".repeat(20_000)}${"]".repeat(20_000)}`);
  for (const [end, ending] of [
    ...[deep, { a: 1 }, undefined].map((reason) => [
      { type: "cut_off", reason },
      { type: "cut_off", reason },
    ]),
    [{ type: "unfinished" }, { type: "tokens_spent", allowed: "1", seen: "9" }],
  ]) {
    const turns = [{ turn: { text: "", calls: [], end }, results: [] }];
    const transcript = { format: 1, turns, ending } as unknown as Transcript;
    expect(() => checkTranscript(transcript, "it")).toThrow("it: the transcript cannot have been: turn 1: ");
  }
});

test("a conversation in the journal is not replayed as a program", async () => {
  await using runtime = await createRuntime({ tools, sandbox: createMemorySandbox() });
  const { execution } = await runtime.agent({ model: scriptedModel(script), task: "Do it." });
  await expect(runtime.execution(execution).replay()).rejects.toThrow("this is a model's conversation, not a program");
});
