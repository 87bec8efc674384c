import { expect, test, vi } from "vitest";
import { fromMcp } from "../../../src/index.ts";
import type { SourceChange } from "../../../src/sources/mcp/mcp-options.ts";
import { manualClock } from "../../support/clock.ts";
import { servedRaw } from "./served-raw.ts";
import { call, rawServer, READ, run, WRITE } from "./servers.ts";
import { someOf, testOfAll } from "../../support/all-tests.ts";
import { failing } from "../../support/failing.ts";

// ---- changes of the list ----------------------------------------------------------------------------------------

test("a change of the list is told; new lists have the new tools, and old tools still call", async () => {
  const changed = Promise.withResolvers<SourceChange>();
  await using source = await fromMcp({ ...(await servedRaw("changes")), onSourceChange: changed.resolve }, READ);
  const before = source.tools;
  expect(before.map(({ name }) => name)).toEqual(["raw.echo", "raw.first"]);
  await call(before, "raw.echo({})");
  expect(await changed.promise).toEqual({ source: "raw", added: ["second"], removed: ["first"], changed: ["echo"] });
  expect(source.tools.map(({ name, description }) => [name, description])).toEqual([
    ["raw.echo", "The second one"],
    ["raw.second", "The tool second"],
  ]);
  expect(before).not.toBe(source.tools);
  expect(await call(before, "raw.echo({})")).toBe("changed");
});

testOfAll("a change that is told while the list is read is read too", async () => {
  const changed = Promise.withResolvers();
  const onSourceChange = ({ added }: SourceChange) => added.includes("list3") && changed.resolve(undefined);
  await using source = await fromMcp({ ...(await servedRaw("changes-while-listed")), onSourceChange }, READ);
  await call(source.tools, "raw.echo({})");
  await changed.promise;
  expect(source.tools.map(({ name }) => name)).toEqual(["raw.echo", "raw.list3"]);
});

test("with pin, a tool whose definition has changed is refused and listed no more", async () => {
  const changed = Promise.withResolvers<SourceChange>();
  await using source = await fromMcp(
    { ...(await servedRaw("changes")), pin: true, onSourceChange: changed.resolve },
    READ,
  );
  const before = source.tools;
  await call(before, "raw.echo({})");
  await changed.promise;
  expect(await call(before, "raw.echo({})")).toEqual(failing("source_unavailable", /raw\.echo has changed/));
  expect(source.tools).toEqual([]);
  expect(source.problems).toEqual([
    '"echo" is left out: it is new or has changed since the tools were pinned.',
    '"second" is left out: it is new or has changed since the tools were pinned.',
  ]);
});

const ACCEPTED = [{ action: "accept", content: {} }];

// ---- questions of the server -------------------------------------------------------------------------------------

test("what a server asks in the midst of a call goes to approve, and is declined without one", async () => {
  const inputs: unknown[] = [];
  const approve = ({ input, tool }: { readonly input: unknown; readonly tool: string }) => {
    inputs.push([tool, input]);
    return true;
  };
  await using source = await fromMcp(await servedRaw("asks"), READ);
  expect(await call(source.tools, "raw.echo({})", { approve })).toEqual(ACCEPTED);
  expect(inputs).toEqual([["raw.echo", { elicitation: { message: "Really?", fields: [] } }]]);
  await using other = await fromMcp(await servedRaw("asks"), READ);
  expect(await call(other.tools, "raw.echo({})")).toEqual([{ action: "decline" }]);
});

test.each<[unknown, unknown]>([
  [{ allow: true, fields: { name: "Ada", age: 36 } }, [{ action: "accept", content: { name: "Ada", age: 36 } }]],
  [{ allow: true, fields: { name: "Ada" } }, [{ action: "accept", content: { name: "Ada" } }]],
  [{ allow: false, fields: { name: "Ada" } }, [{ action: "decline" }]],
  [true, [{ action: "cancel" }]],
  [{ allow: true, fields: { name: "A" } }, [{ action: "cancel" }]],
  [{ allow: true, fields: { name: "Ada", age: "36" } }, [{ action: "cancel" }]],
  [{ allow: true, fields: { name: "Ada", other: 1 } }, [{ action: "cancel" }]],
  [{ allow: true, fields: { name: ["Ada"] } }, [{ action: "cancel" }]],
])("a form of the server gets the fields that the approver gave, if they fit it: %j", async (answer, expected) => {
  const approve = vi.fn(() => answer as never);
  await using source = await fromMcp(await servedRaw("asks-for-fields"), READ);
  expect(await call(source.tools, "raw.echo({})", { approve })).toEqual(expected);
  expect(approve).toHaveBeenCalledWith(
    expect.objectContaining({
      input: {
        elicitation: {
          message: "Who?",
          fields: ["name", "age"],
          schema: expect.objectContaining({ required: ["name"] }),
        },
      },
    }),
  );
});

test("while an approver is asked, the time of the call stands still", async () => {
  const clock = manualClock();
  const approve = async () => {
    await clock.advance(60_000);
    return true;
  };
  await using source = await fromMcp({ ...(await servedRaw("asks")), timeoutMs: 30_000 }, READ);
  expect(await call(source.tools, "raw.echo({})", { approve })).toEqual(ACCEPTED);
});

test("a question is cancelled if it cannot be told which of several calls it belongs to", async () => {
  const approve = vi.fn(() => true);
  await using source = await fromMcp(rawServer("asks-between-two"), READ);
  const { outcome } = await run(source.tools, "return Promise.all([tools.raw.echo({}), tools.raw.echo({})])", {
    approve,
  });
  expect(outcome).toMatchObject({ value: [[{ action: "cancel" }], [{ action: "cancel" }]] });
  expect(approve).not.toHaveBeenCalled();
});

test("a question is cancelled while the server may still work on a call that was given up", async () => {
  const approve = vi.fn(() => true);
  await using source = await fromMcp(rawServer("asks-between-two"), READ);
  await run(source.tools, 'tools.raw.echo({}).catch(() => {}); return tools.raw.other({ text: "sent" });');
  const { outcome } = await run(source.tools, "return tools.raw.echo({})", { approve });
  expect(outcome).toMatchObject({ value: [{ action: "cancel" }] });
  expect(approve).not.toHaveBeenCalled();
});

test("a question belongs to the call that is open, also while tools are listed again", async () => {
  await using source = await fromMcp(rawServer("asks-while-listed"), READ);
  expect(await call(source.tools, "raw.echo({})", { approve: () => true })).toEqual(ACCEPTED);
});

test("an approver is asked 16 questions in one call, and further ones are declined", async () => {
  const approve = vi.fn(() => true);
  await using source = await fromMcp(await servedRaw("asks-without-end"), READ);
  const answers = (await call(source.tools, "raw.echo({})", { approve })) as { action: string }[];
  expect(approve).toHaveBeenCalledTimes(16);
  expect(answers.filter(({ action }) => action === "accept")).toHaveLength(16);
  expect(answers).toHaveLength(100);
});

test("an approver who declines is asked nothing more in that call", async () => {
  const approve = vi.fn(() => false);
  await using source = await fromMcp(await servedRaw("asks-without-end"), READ);
  await call(source.tools, "raw.echo({})", { approve });
  expect(approve).toHaveBeenCalledTimes(1);
  await using again = await fromMcp(await servedRaw("asks-again"), WRITE);
  expect(await call(again.tools, "raw.echo({})", { approve })).toEqual(
    failing("handler_failed", /raw\.echo asked for input .*asked again/),
  );
  expect(approve).toHaveBeenCalledTimes(2);
});

test.each(someOf(["pings", "asks"], 1))("a server that %s and does not read the answers is ended", async (asks) => {
  await using source = await fromMcp({ ...rawServer(`${asks}-and-does-not-read`), timeoutMs: 10_000 }, WRITE);
  expect(await call(source.tools, "raw.echo({})")).toMatchObject({ code: "source_unavailable" });
});

test("a server is not ended for calls that wait for it to read them", async () => {
  await using source = await fromMcp(rawServer("plain"), READ);
  const calls =
    'const text = "x".repeat(1_000_000); return (await Promise.all(Array.from({ length: 23 }, () => tools.raw.other({ text })))).length;';
  const all = await Promise.all([1, 2, 3].map(() => run(source.tools, calls)));
  expect(all.map(({ outcome }) => outcome)).toEqual(all.map(() => ({ type: "completed", value: 23 })));
});

test("sampling and roots are refused", async () => {
  await using source = await fromMcp(await servedRaw("asks-for-more"), READ);
  const errors = (await call(source.tools, "raw.echo({})")) as readonly {
    readonly code: number;
  }[];
  expect(errors.map(({ code }) => code)).toEqual([-32601, -32601]);
});

// ---- results ----------------------------------------------------------------------------------------------------

test("what a server says of a failure is not shaped", async () => {
  await using source = await fromMcp(await servedRaw("failing-fully"), { ...READ, shape: () => "fine" });
  expect(await call(source.tools, "raw.echo({})")).toEqual({ code: "handler_failed", message: "No axis." });
});
