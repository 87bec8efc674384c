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

// The handler gets what the schema makes of an input, not what was sent.
defineTool({
  ...base,
  input,
  handler: (value) => expectTypeOf(value).toEqualTypeOf<{ page: number; on: boolean }>(),
});
defineTool({
  ...base,
  input,
  approval: (value) => {
    expectTypeOf(value).toEqualTypeOf<{ page: number; on: boolean }>();
    return value.on;
  },
  handler: () => null,
});
defineTool({
  ...base,
  input: jsonSchema<{ id: string }>({ type: "object" }),
  handler: (value) => expectTypeOf(value).toEqualTypeOf<{ id: string }>(),
});

// It returns what the output schema takes, at once or later.
defineTool({ ...base, input, output, handler: () => ({}) });
defineTool({ ...base, input, output, handler: async () => ({ total: 1 }) });
// @ts-expect-error a field of the wrong type
defineTool({ ...base, input, output, handler: () => ({ total: "1" }) });
// @ts-expect-error a promise of the wrong thing
defineTool({ ...base, input, output, handler: async () => "1" });
// @ts-expect-error nothing at all
defineTool({ ...base, input, output, handler: () => {} });

// The literals that a handler writes are those of its schema: enums, tuples, unions, lists, keys, in parts of a content.
const ticket = z.object({ status: z.enum(["open", "closed"]), n: z.number().optional() });
const pair = z.tuple([z.literal("a"), z.number()]);
const either = z.discriminatedUnion("t", [
  z.object({ t: z.literal("a"), n: z.number() }),
  z.object({ t: z.literal("b") }),
]);
const byKey = z.record(z.string(), z.array(z.union([z.literal(1), z.literal("x")])));
declare const open: boolean;
declare const rows: () => Promise<{ status: "open" | "closed" }[]>;
defineTool({ ...base, input, output: ticket, handler: () => ({ status: "closed" }) });
defineTool({ ...base, input, output: ticket, handler: async ({ page }) => ({ status: "closed", n: page }) });
defineTool({
  ...base,
  input,
  output: ticket,
  handler: async ({ on }) => {
    if (on) return { status: "open" };
    return { status: "closed" };
  },
});
defineTool({ ...base, input, output: ticket, handler: () => content({ value: { status: "open" } }) });
defineTool({ ...base, input, output: z.enum(["a", "b"]), handler: async () => "a" });
defineTool({ ...base, input, output: pair, handler: () => ["a", 1] });
defineTool({ ...base, input, output: either, handler: () => (open ? { t: "a", n: 1 } : { t: "b" }) });
defineTool({ ...base, input, output: z.array(z.object({ k: z.literal("a") })), handler: async () => [{ k: "a" }] });
defineTool({ ...base, input, output: byKey, handler: ({ page }) => ({ [page]: [1, "x"] }) });
defineTool({ ...base, input, output: z.array(ticket), handler: () => rows() });
defineTool({
  ...base,
  input,
  output: z.object({ at: z.date().transform(String) }),
  handler: () => ({ at: new Date() }),
});
defineTool({ ...base, input, output: ticket, stream: true, handler: () => [{ status: "open" }] });
defineTextTool({ ...base, format: "text", output: ticket, handler: () => ({ status: "open" }) });
defineTool({ ...base, input, handler: () => new Promise((resolve) => resolve(null)) });
// @ts-expect-error a status that there is not
defineTool({ ...base, input, output: ticket, handler: async () => ({ status: "shut" }) });
// @ts-expect-error a field that is missing
defineTool({ ...base, input, output: ticket, handler: () => ({}) });
// @ts-expect-error a field that is missing from one of two
defineTool({ ...base, input, output: ticket, handler: () => (open ? { status: "open" } : { n: 1 }) });
// @ts-expect-error nothing, now and then
defineTool({ ...base, input, output: ticket, handler: () => (open ? { status: "open" } : undefined) });
// @ts-expect-error any text
defineTool({ ...base, input, output: ticket, handler: ({ page }) => ({ status: String(page) }) });
// @ts-expect-error half a tuple
defineTool({ ...base, input, output: pair, handler: () => ["a"] });
// @ts-expect-error fields of another member
defineTool({ ...base, input, output: either, handler: () => ({ t: "a" }) });
// @ts-expect-error a status that there is not, in a content
defineTool({ ...base, input, output: ticket, handler: () => content({ value: { status: "shut" } }) });
// @ts-expect-error a status that there is not, of a text
defineTextTool({ ...base, format: "text", output: ticket, handler: () => ({ status: "shut" }) });

// Without an output schema it may return anything.
defineTool({ ...base, input, handler: () => {} });
defineTool({ ...base, input, handler: async () => [1, "a", null] });

// Of a stream the output schema is that of one item: an async generator yields items, or a function returns them.
const row = z.object({ id: z.string() });
const stream = { ...base, input, output: row, stream: true } as const;
defineTool({
  ...stream,
  async *handler({ page }, { signal, after }) {
    expectTypeOf(page).toBeNumber();
    expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
    expectTypeOf(after).toEqualTypeOf<StreamPosition | undefined>();
    yield { id: "a" };
  },
});
defineTool({ ...stream, handler: () => [{ id: "a" }] });
defineTool({ ...stream, handler: async () => new Set([{ id: "a" }]) });
defineTool({ ...base, input, stream: true, resumes: "from-start", handler: () => [1, "a", null] });
expectTypeOf(
  defineTool({
    ...stream,
    async *handler(_, { context }: CallContext<{ readonly user: string }>) {
      yield { id: context.user };
    },
  }),
).toEqualTypeOf<Tool<{ readonly user: string }>>();
// @ts-expect-error an item with a field of the wrong type
defineTool({ ...stream, handler: () => [{ id: 1 }] });
defineTool({
  ...stream,
  // @ts-expect-error the same, yielded
  async *handler() {
    yield { id: 1 };
  },
});
// @ts-expect-error one item, and no iterable of items
defineTool({ ...stream, handler: () => ({ id: "a" }) });
// @ts-expect-error a list as the schema of an item
defineTool({ ...stream, output: z.array(row), handler: () => [{ id: "a" }] });
// @ts-expect-error it goes on after, or from the start
defineTool({ ...stream, resumes: "again", handler: () => [{ id: "a" }] });

// The context says who calls, and carries a signal.
defineTool({
  ...base,
  input,
  handler: (_, context) => {
    expectTypeOf(context.caller).toEqualTypeOf<"direct" | "programmatic">();
    expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
    return context.idempotencyKey;
  },
});

const { allowedCallers: _callers, ...withoutCallers } = base;
const { effect: _effect, ...withoutEffect } = base;
// @ts-expect-error there is no safe guess who may call
defineTool({ ...withoutCallers, input, handler: () => null });
// @ts-expect-error nor what a call does to the world
defineTool({ ...withoutEffect, input, handler: () => null });
// @ts-expect-error nor what it takes
defineTool({ ...base, handler: () => null });
// @ts-expect-error there is no third caller
defineTool({ ...base, input, allowedCallers: ["anyone"], handler: () => null });
// By the input, with its type.
defineTool({
  ...base,
  input,
  effect: (given) => (Object.keys(given).length > 0 ? "write" : "read"),
  handler: () => null,
});
// @ts-expect-error nor is a fourth one by the input
defineTool({ ...base, input, effect: () => "delete", handler: () => null });
// @ts-expect-error there is no fourth effect
defineTool({ ...base, input, effect: "delete", handler: () => null });
// @ts-expect-error an option that does not exist
defineTool({ ...base, input, timeout: 5, handler: () => null });
// @ts-expect-error a plain JSON Schema goes through jsonSchema()
defineTool({ ...base, input: { type: "object" }, handler: () => null });
// @ts-expect-error whether to approve is yes or no
defineTool({ ...base, input, approval: () => "yes", handler: () => null });
