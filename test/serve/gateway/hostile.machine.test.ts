import { expect, test } from "vitest";
import { readMessages } from "../../../src/serve/gateway/surface/anthropic/read-messages.ts";
import { readItems } from "../../../src/serve/gateway/surface/openai/read-items.ts";
import { processorNow, turnsOf } from "../turns.ts";
import { openGateway, type OpenGateway, post, PROGRAMS } from "./gateways.ts";

/** Of the processor time of all turns together, what the longest one may take. */
const MOST_SHARE = 0.3;
/** Reading that compares each part with all others takes four times as long. */
const MOST_RATIO = 3.2;

const count = (gateway: OpenGateway, content: string) => {
  const body = { model: "m", max_tokens: 10, messages: [{ role: "user", content }] };
  return post(gateway, body, { path: "/v1/messages/count_tokens" });
};

test.each([
  ["one word", "a".repeat(4_000_000)],
  ["marks above letters", "\u0301".repeat(1_900_000)],
  ["digits", "7".repeat(4_000_000)],
])(
  "counting the tokens of the largest body is many turns, none of which is long: %s",
  async (name, text) => {
    await using gateway = await openGateway([]);
    // The first request loads code.
    expect((await count(gateway, "x")).status).toBe(200);
    const { whole, longest } = await turnsOf(async () => expect((await count(gateway, text)).status).toBe(200));
    process.stdout.write(`${name}: ${longest.toFixed(0)} of ${whole.toFixed(0)} ms in one turn\n`);
    expect(longest / whole).toBeLessThan(MOST_SHARE);
  },
  120_000,
);

/** Holds that work on twice as much takes about twice the processor time. */
function expectLinear(workOn: (size: number) => () => unknown): void {
  const least = (size: number) => {
    const work = workOn(size);
    const times = Array.from({ length: 5 }, () => {
      const before = processorNow();
      work();
      return processorNow() - before;
    });
    return Math.min(...times);
  };
  least(4000);
  const [one, two] = [least(8000), least(16_000)];
  process.stdout.write(`8,000: ${one.toFixed(1)} ms, 16,000: ${two.toFixed(1)} ms\n`);
  expect(two / one).toBeLessThan(MOST_RATIO);
}

type Numbers = readonly number[];
const user = (content: unknown) => ({ role: "user", content });

function messagesOf(numbers: Numbers): readonly object[] {
  const caller = (index: number) => ({ type: PROGRAMS.type, tool_id: `p${index}` });
  const call = { type: "tool_use", name: "f", input: {} };
  const program = { type: "server_tool_use", name: "code_execution", input: { code: "" } };
  const ended = { type: "code_execution_result", stdout: "", stderr: "", return_code: 0, content: [] };
  const calls = [
    ...numbers.map((one) => ({ ...program, id: `p${one}` })),
    ...numbers.map((one) => ({ ...call, id: `c${one}`, caller: caller(one) })),
    ...numbers.map((one) => ({ ...call, id: `d${one}` })),
  ];
  const results = ["c", "d"].flatMap((of) => numbers.map((one) => ({ type: "tool_result", tool_use_id: of + one })));
  const ends = numbers.map((one) => ({ type: "code_execution_tool_result", tool_use_id: `p${one}`, content: ended }));
  const said = (content: unknown) => ({ role: "assistant", content });
  return [user("x"), said(calls), user(results), said(ends), user("y")];
}

function itemsOf(numbers: Numbers): readonly object[] {
  const call = { type: "function_call", name: "f", arguments: "{}" };
  const output = { type: "function_call_output", output: "" };
  return [
    user("x"),
    ...numbers.map((one) => ({ type: "program", call_id: `p${one}`, code: "", fingerprint: "f" })),
    ...numbers.map((one) => ({ ...call, call_id: `c${one}`, caller: { type: "program", caller_id: `p${one}` } })),
    ...numbers.map((one) => ({ ...call, call_id: `d${one}` })),
    ...["c", "d"].flatMap((of) => numbers.map((one) => ({ ...output, call_id: of + one }))),
    ...numbers.map((one) => ({ type: "program_output", call_id: `p${one}`, result: "", status: "completed" })),
    user("y"),
  ];
}

test.each<[string, (numbers: Numbers) => readonly object[], (history: readonly object[]) => unknown]>([
  ["calls, programs and answers of Anthropic's wire", messagesOf, readMessages],
  ["items of OpenAI's wire", itemsOf, (items) => readItems(items, new Map(), false)],
])(
  "twice as many %s take twice as long to read, not four times",
  (_, historyOf, read) => {
    expectLinear((size) => {
      const history = historyOf(Array.from({ length: size }, (_value, index) => index));
      return () => read(history);
    });
  },
  60_000,
);
