/* Checked by `tsc` alone: each line under a `@ts-expect-error` must not compile, and every other must. */
import { expectTypeOf } from "vitest";
import { z } from "zod";
import { content } from "../../src/tools/content.ts";
import { defineTextTool } from "../../src/tools/define-text-tool.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import { jsonSchema } from "../../src/tools/schema.ts";
import type { CallContext, StreamPosition, Tool } from "../../src/tools/tool.ts";

const base = { name: "a", description: "b", allowedCallers: ["direct"], effect: "read" } as const;
const input = z.object({ page: z.number().default(1), on: z.stringbool() });
const output = z.object({ total: z.number().default(0) });
const given = { ...base, inputSchema: input } as const;

// The handler gets what the schema makes of an input, not what was sent.
defineTool({ ...given, execute: (value) => expectTypeOf(value).toEqualTypeOf<{ page: number; on: boolean }>() });
defineTool({
  ...given,
  approval: (value) => {
    expectTypeOf(value).toEqualTypeOf<{ page: number; on: boolean }>();
    return value.on;
  },
  execute: () => null,
});
defineTool({
  ...base,
  inputSchema: jsonSchema<{ id: string }>({ type: "object" }),
  execute: (value) => expectTypeOf(value).toEqualTypeOf<{ id: string }>(),
});

// It returns what the output schema takes, at once or later.
defineTool({ ...given, outputSchema: output, execute: () => ({}) });
defineTool({ ...given, outputSchema: output, execute: async () => ({ total: 1 }) });
// @ts-expect-error a field of the wrong type
defineTool({ ...given, outputSchema: output, execute: () => ({ total: "1" }) });
// @ts-expect-error a promise of the wrong thing
defineTool({ ...given, outputSchema: output, execute: async () => "1" });
// @ts-expect-error nothing at all
defineTool({ ...given, outputSchema: output, execute: () => {} });

// The literals that a handler writes are those of its schema: enums, tuples, unions, lists, keys, in parts of a content.
const ticket = z.object({ status: z.enum(["open", "closed"]), n: z.number().optional() });
const pair = z.tuple([z.literal("a"), z.number()]);
const either = z.discriminatedUnion("t", [
  z.object({ t: z.literal("a"), n: z.number() }),
  z.object({ t: z.literal("b") }),
]);
const byKey = z.record(z.string(), z.array(z.union([z.literal(1), z.literal("x")])));
declare const open: boolean;
defineTool({ ...given, outputSchema: ticket, execute: () => ({ status: "closed" }) });
defineTool({ ...given, outputSchema: ticket, execute: async ({ page }) => ({ status: "closed", n: page }) });
defineTool({ ...given, outputSchema: ticket, execute: async ({ on }) => ({ status: on ? "open" : "closed" }) });
defineTool({ ...given, outputSchema: ticket, execute: () => content({ value: { status: "open" } }) });
defineTool({ ...given, outputSchema: z.enum(["a", "b"]), execute: async () => "a" });
defineTool({ ...given, outputSchema: pair, execute: () => ["a", 1] });
defineTool({ ...given, outputSchema: either, execute: () => (open ? { t: "a", n: 1 } : { t: "b" }) });
defineTool({ ...given, outputSchema: z.array(z.object({ k: z.literal("a") })), execute: async () => [{ k: "a" }] });
defineTool({ ...given, outputSchema: byKey, execute: ({ page }) => ({ [page]: [1, "x"] }) });
defineTool({
  ...given,
  outputSchema: z.object({ at: z.date().transform(String) }),
  execute: () => ({ at: new Date() }),
});
defineTool({ ...given, outputSchema: ticket, stream: true, execute: () => [{ status: "open" }] });
defineTextTool({ ...base, format: "text", outputSchema: ticket, execute: () => ({ status: "open" }) });
defineTool({ ...given, execute: () => new Promise((resolve) => resolve(null)) });
// @ts-expect-error a status that there is not
defineTool({ ...given, outputSchema: ticket, execute: async () => ({ status: "shut" }) });
// @ts-expect-error a field that is missing
defineTool({ ...given, outputSchema: ticket, execute: () => ({}) });
defineTool({
  ...given,
  outputSchema: ticket,
  // @ts-expect-error a field that is missing from one of two
  execute: () => (open ? { status: "open" } : { n: 1 }),
});
defineTool({
  ...given,
  outputSchema: ticket,
  // @ts-expect-error nothing, now and then
  execute: () => (open ? { status: "open" } : undefined),
});
// @ts-expect-error any text
defineTool({ ...given, outputSchema: ticket, execute: ({ page }) => ({ status: String(page) }) });
// @ts-expect-error half a tuple
defineTool({ ...given, outputSchema: pair, execute: () => ["a"] });
// @ts-expect-error fields of another member
defineTool({ ...given, outputSchema: either, execute: () => ({ t: "a" }) });
defineTool({
  ...given,
  outputSchema: ticket,
  // @ts-expect-error a status that there is not, in a content
  execute: () => content({ value: { status: "shut" } }),
});
// @ts-expect-error a status that there is not, of a text
defineTextTool({ ...base, format: "text", outputSchema: ticket, execute: () => ({ status: "shut" }) });

// Without an output schema it may return anything.
defineTool({ ...given, execute: () => {} });
defineTool({ ...given, execute: async () => [1, "a", null] });

// Of a stream the output schema is that of one item: an async generator yields items, or a function returns them.
const row = z.object({ id: z.string() });
const stream = { ...given, outputSchema: row, stream: true } as const;
defineTool({
  ...stream,
  async *execute({ page }, { signal, previous: after }) {
    expectTypeOf(page).toBeNumber();
    expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
    expectTypeOf(after).toEqualTypeOf<StreamPosition | undefined>();
    yield { id: "a" };
  },
});
defineTool({ ...stream, execute: () => [{ id: "a" }] });
defineTool({ ...stream, execute: async () => new Set([{ id: "a" }]) });
defineTool({ ...given, stream: true, resumes: "from-start", execute: () => [1, "a", null] });
expectTypeOf(
  defineTool({
    ...stream,
    async *execute(_, { context }: CallContext<{ readonly user: string }>) {
      yield { id: context.user };
    },
  }),
).toEqualTypeOf<Tool<{ readonly user: string }>>();
// @ts-expect-error an item with a field of the wrong type
defineTool({ ...stream, execute: () => [{ id: 1 }] });
defineTool({
  ...stream,
  // @ts-expect-error the same, yielded
  async *execute() {
    yield { id: 1 };
  },
});
// @ts-expect-error one item, and no iterable of items
defineTool({ ...stream, execute: () => ({ id: "a" }) });
// @ts-expect-error a list as the schema of an item
defineTool({ ...stream, outputSchema: z.array(row), execute: () => [{ id: "a" }] });
// @ts-expect-error it goes on after, or from the start
defineTool({ ...stream, resumes: "again", execute: () => [{ id: "a" }] });

// The context says who calls, and carries a signal.
defineTool({
  ...given,
  execute: (_, context) => {
    expectTypeOf(context.caller).toEqualTypeOf<"direct" | "programmatic">();
    expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
    return context.idempotencyKey;
  },
});

const { allowedCallers: _callers, ...withoutCallers } = base;
// @ts-expect-error there is no safe guess who may call
defineTool({ ...withoutCallers, inputSchema: input, execute: () => null });
const { effect: _effect, ...withoutEffect } = base;
defineTool({ ...withoutEffect, inputSchema: input, execute: () => null });
// @ts-expect-error nor what it takes
defineTool({ ...base, execute: () => null });
// @ts-expect-error there is no third caller
defineTool({ ...given, allowedCallers: ["anyone"], execute: () => null });
// By the input, with its type.
defineTool({ ...given, effect: (given) => (Object.keys(given).length > 0 ? "write" : "read"), execute: () => null });
// @ts-expect-error nor is a fourth one by the input
defineTool({ ...given, effect: () => "delete", execute: () => null });
// @ts-expect-error there is no fourth effect
defineTool({ ...given, effect: "delete", execute: () => null });
// @ts-expect-error an option that does not exist
defineTool({ ...given, timeout: 5, execute: () => null });
// @ts-expect-error a plain JSON Schema goes through jsonSchema()
defineTool({ ...base, inputSchema: { type: "object" }, execute: () => null });
// @ts-expect-error whether to approve is yes or no
defineTool({ ...given, approval: () => "yes", execute: () => null });
