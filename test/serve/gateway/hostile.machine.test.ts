import { expect, test } from "vitest";
import { readMessages } from "../../../src/serve/gateway/surface/anthropic/read-messages.ts";
import { readItems } from "../../../src/serve/gateway/surface/openai/read-items.ts";
import { processorNow, turnsOf } from "../turns.ts";
import { openGateway, type OpenGateway } from "./gateways.ts";

/** Of the processor time of all turns together, what the longest one may take. */
const MOST_SHARE = 0.3;
/** Reading that compares each part with all others takes four times as long. */
const MOST_RATIO = 3.2;

function count({ fetch }: OpenGateway, content: string): Promise<Response> {
  const headers = {
    "content-type": "application/json",
    "anthropic-version": "2023-06-01",
    authorization: "Bearer con-0123456789abcdef",
  };
  const body = JSON.stringify({ model: "m", max_tokens: 10, messages: [{ role: "user", content }] });
  return fetch("http://localhost/v1/messages/count_tokens", { method: "POST", headers, body });
}

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

test("twice as many calls, programs and answers take twice as long to read, not four times", () => {
  const history = (count: number) => {
    const numbers = Array.from({ length: count }, (_, index) => index);
    const caller = (index: number) => ({ type: "code_execution_20260120", tool_id: `p${index}` });
    return {
      messages: [
        { role: "user", content: "x" },
        {
          role: "assistant",
          content: [
            ...numbers.map((one) => ({
              type: "server_tool_use",
              id: `p${one}`,
              name: "code_execution",
              input: { code: "" },
            })),
            ...numbers.map((one) => ({ type: "tool_use", id: `c${one}`, name: "f", input: {}, caller: caller(one) })),
            ...numbers.map((one) => ({ type: "tool_use", id: `d${one}`, name: "f", input: {} })),
          ],
        },
        {
          role: "user",
          content: ["c", "d"].flatMap((of) =>
            numbers.map((one) => ({ type: "tool_result", tool_use_id: of + one, content: "" })),
          ),
        },
        {
          role: "assistant",
          content: numbers.map((one) => ({
            type: "code_execution_tool_result",
            tool_use_id: `p${one}`,
            content: { type: "code_execution_result", stdout: "", stderr: "", return_code: 0, content: [] },
          })),
        },
        { role: "user", content: "y" },
      ],
    };
  };
  expectLinear((count) => {
    const body = history(count);
    return () => readMessages(body.messages);
  });
}, 60_000);

test("twice as many items of OpenAI's wire take twice as long to read, not four times", () => {
  const history = (count: number) => {
    const numbers = Array.from({ length: count }, (_, index) => index);
    const call = { type: "function_call", name: "f", arguments: "{}" };
    return {
      input: [
        { role: "user", content: "x" },
        ...numbers.map((one) => ({ type: "program", call_id: `p${one}`, code: "", fingerprint: "f" })),
        ...numbers.map((one) => ({ ...call, call_id: `c${one}`, caller: { type: "program", caller_id: `p${one}` } })),
        ...numbers.map((one) => ({ ...call, call_id: `d${one}` })),
        ...["c", "d"].flatMap((of) =>
          numbers.map((one) => ({ type: "function_call_output", call_id: of + one, output: "" })),
        ),
        ...numbers.map((one) => ({ type: "program_output", call_id: `p${one}`, result: "", status: "completed" })),
        { role: "user", content: "y" },
      ],
    };
  };
  expectLinear((count) => {
    const body = history(count);
    return () => readItems(body.input, new Map(), false);
  });
}, 60_000);
