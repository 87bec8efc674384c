import * as fc from "fast-check";
import { scriptedModel, type ScriptedStep } from "portcullis/testing";
import { expect, test } from "vitest";
import { ALL_TESTS, testOfAll } from "../../support/all-tests.ts";
import { messages, toolRunner } from "./clients/anthropic-clients.ts";
import { responses } from "./clients/openai-clients.ts";
import { type Client, PROGRAM } from "./clients/task.ts";
import { type Death, mortalGateway } from "./mortal-gateway.ts";

/*
 * The host of a gateway dies after each write of its journal, and in the midst of each answer of its model: at every kind
 * of pause, and between them. The client asks again.
 */

/** Of the moments of death, the quick run takes one in so many. */
const STEP = ALL_TESTS ? 1 : 13;

const SCRIPT: readonly ScriptedStep[] = [
  { reasoning: "A program adds.", text: "I will add.", programs: [PROGRAM] },
  { text: "Now the stock.", calls: [{ tool: "stock", input: { id: 4 } }] },
  ({ results }) => ({ text: `There is ${results.map(({ text }) => text).join()}.` }),
];

/** The calls of the client's tools. */
const EACH = [1, 2, 3, 4];
const ANSWER = 'There is "plenty".';
/** An answer that is not stored is made anew once it has ended, from what the client sends: a text is a text there. */
const MADE_ANEW = "There is plenty.";

const stored = responses(true);
const unstored = responses(false);

/** Does the task while hosts die. Gives what the journal and the model were asked for. */
async function complete(client: Client, isStreamed: boolean, deaths: readonly Death[]) {
  await using gateway = await mortalGateway(() => scriptedModel(SCRIPT, { name: "scripted:m" }), deaths);
  const called: number[] = [];
  const text = await client({
    gateway,
    model: "m",
    isStreamed,
    depot: (id) => (called.push(id), { n: id * 1000 + 7 }),
    stock: (id) => (called.push(id), "plenty"),
  });
  expect(client === unstored ? [ANSWER, MADE_ANEW] : [ANSWER]).toContain(text);
  // No tool of the client runs twice. A program in whose turn three hosts in a row have died is ended.
  expect(deaths.length < 3 ? [EACH] : [EACH, [1, 2, 4]]).toContainEqual(called.toSorted((a, b) => a - b));
  expect(gateway.errors()).toEqual([]);
  // An answer of the model that a host has heard whole is not asked for again, but for the first, of which no client knows.
  expect(gateway.counts.answers).toBeLessThanOrEqual(SCRIPT.length + deaths.length);
  return gateway.counts;
}

/** `make test` has the first whole and the third streamed. */
const CLIENTS: readonly (readonly [name: string, client: Client])[] = [
  ["@anthropic-ai/sdk: messages", messages],
  ["@anthropic-ai/sdk: toolRunner", toolRunner],
  ["openai: responses, stored", stored],
  ["openai: responses, not stored", unstored],
];

for (const [name, client] of CLIENTS)
  for (const isStreamed of [false, true])
    ((client === messages && !isStreamed) || (client === stored && isStreamed) ? test : testOfAll)(
      `a host that dies at any moment loses and doubles nothing: ${name}, ${isStreamed ? "streamed" : "whole"}`,
      async () => {
        const { writes, answers } = await complete(client, isStreamed, []);
        expect(answers).toBe(SCRIPT.length);
        for (let one = 1; one <= answers; one += 1) await complete(client, isStreamed, [{ answers: one }]);
        for (let one = 1; one <= writes; one += STEP) await complete(client, isStreamed, [{ writes: one }]);
        const death = fc.oneof(
          fc.record({ writes: fc.integer({ min: 1, max: writes }) }),
          fc.record({ answers: fc.integer({ min: 1, max: answers }) }),
        );
        await fc.assert(
          fc.asyncProperty(fc.array(death, { minLength: 2, maxLength: 4 }), async (deaths) => {
            await complete(client, isStreamed, deaths);
          }),
          { numRuns: ALL_TESTS ? 40 : 1 },
        );
      },
      300_000,
    );
