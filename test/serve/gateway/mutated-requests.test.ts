import type Anthropic from "@anthropic-ai/sdk";
import * as fc from "fast-check";
import type OpenAI from "openai";
import { scriptedModel, type ScriptedStep } from "portcullis/testing";
import { expect, test } from "vitest";
import { mutated } from "../../support/changed.ts";
import { ALL_TESTS } from "../../support/all-tests.ts";
import { answered, functionTool, messageTool, openGateway, outputsOf, post, PROGRAMS } from "./gateways.ts";

/*
 * A conversation of each wire is paused at calls of a program and of the model, with reasoning before it, and its client's
 * answer is changed at random. Whatever is refused changes nothing: the answer as it should be is taken afterwards.
 */

/** How the model calls `query` itself, and how its program does. */
const scriptOf = (call: object, input: string): readonly ScriptedStep[] => [
  { reasoning: "First a query.", text: "I ask.", calls: [{ tool: "query", ...call }] },
  {
    reasoning: "Then a program.",
    text: "I add.",
    programs: [`return await Promise.all([tools.depot({ id: 1 }), tools.query(${input})]);`],
  },
  { reasoning: "Now I know.", text: "Done." },
];

type Body = Readonly<Record<string, unknown>>;
interface Wire {
  readonly path: string;
  readonly first: Body;
  /** The request that answers all calls of a reply. */
  readonly next: (body: Body, reply: string) => Body;
}

const RESPONSES: Wire = {
  path: "/v1/responses",
  first: {
    model: "m",
    store: false,
    reasoning: { effort: "low", summary: "auto" },
    include: ["reasoning.encrypted_content"],
    tools: [
      { type: "programmatic_tool_calling" },
      functionTool("depot"),
      { type: "custom", name: "query", description: "SQL.", allowed_callers: ["direct", "programmatic"] },
    ],
    input: [{ role: "user", content: "How many?" }],
  },
  next: (body, reply) => {
    const response = JSON.parse(reply) as OpenAI.Responses.Response;
    return { ...body, input: [...(body.input as object[]), ...response.output, ...outputsOf(response)] };
  },
};

const MESSAGES: Wire = {
  path: "/v1/messages",
  first: {
    model: "m",
    max_tokens: 4000,
    thinking: { type: "adaptive" },
    tools: [PROGRAMS, messageTool("depot"), messageTool("query", ["direct", PROGRAMS.type])],
    messages: [{ role: "user", content: "How many?" }],
  },
  next: (body, reply) => {
    const message = JSON.parse(reply) as Anthropic.Message;
    const messages = answered(body.messages as Anthropic.MessageParam[], message);
    return { ...body, messages, container: message.container?.id };
  },
};

test.each([
  ["OpenAI's", RESPONSES, scriptOf({ inputText: '"SELECT 1"' }, '"SELECT 2"')],
  ["Anthropic's", MESSAGES, scriptOf({ input: { id: 1 } }, "{ id: 2 }")],
] as const)(
  "%s answers that were changed anywhere are taken or refused in the vendor's words, and nothing is lost",
  { timeout: 300_000 },
  async (_, wire, script) => {
    await using gateway = await openGateway(scriptedModel(script, { name: "scripted:m" }));
    const pauses: Body[] = [];
    /** A conversation at each of its pauses, the last of which is a program's. */
    const begin = async () => {
      let body = wire.first;
      pauses.length = 0;
      for (let pause = 0; pause < 2; pause += 1) {
        const { status, text } = await post(gateway, body, wire);
        expect([status, text]).toEqual([200, expect.any(String)]);
        body = wire.next(body, text);
        pauses.push(body);
      }
    };
    await begin();
    let taken = 0;
    let refused = 0;
    const seeds = fc.record({ at: fc.nat(1), seed: fc.nat() });
    await fc.assert(
      fc.asyncProperty(seeds, async ({ at, seed }) => {
        const [body] = fc.sample(mutated(pauses[at]), { numRuns: 1, seed });
        const { status, text } = await post(gateway, body, wire);
        if (status === 200) {
          taken += 1;
          await begin();
          return;
        }
        refused += 1;
        expect([400, 404, 413], text).toContain(status);
        const { error } = JSON.parse(text) as { readonly error: { readonly type: string; readonly message: string } };
        expect(["invalid_request_error", "not_found_error"]).toContain(error.type);
        expect(error.message.length).toBeLessThan(3000);
        expect(error.message).not.toMatch(/\bat .+:\d+:\d+|node_modules|\/src\//);
        if (refused % 20 > 0) return;
        const right = await post(gateway, pauses[1], wire);
        expect([right.status, right.text]).toEqual([200, expect.stringContaining("Done.")]);
        // Of what is not stored nothing is kept once it has ended.
        await begin();
      }),
      { numRuns: ALL_TESTS ? 1000 : 15 },
    );
    process.stdout.write(`taken ${taken}, refused ${refused}\n`);
  },
);
