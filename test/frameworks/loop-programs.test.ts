import { expect, test } from "vitest";
import type { Runtime } from "../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../src/journal/index.ts";
import { openRefunds, THREE } from "./approval/rules.ts";

/*
 * A program whose `approve` says "later", in a loop that has no means of its own to ask people: the model gets a handle, and the
 * program goes on by itself once a person has decided.
 */

const ONE = "return tools.refund({ n: 1 });";
const PAID = ["paid 1", "paid 2", "paid 3"];

/** A runtime whose `approve` answers "later", with the calls that it was asked about, and what was paid. */
async function openLater(journal?: Journal) {
  const asked: string[] = [];
  const approve = ({ callId }: { readonly callId: string }) => (asked.push(callId), "later" as const);
  return { ...(await openRefunds({ approval: "always", approve, ...(journal && { journal }) })), asked };
}

const programOf = async (runtime: Runtime) => {
  const { run_program } = await runtime.asTool("anthropic");
  return (code: string) => run_program.run({ code });
};

const handleOf = (text: string): string => /program_[\da-f-]{36}/.exec(text)?.[0] ?? "none";

async function decide(runtime: Runtime, id: string, allow = true): Promise<void> {
  const { report } = await runtime.execution(id).status();
  const { outcome } = report ?? {};
  const [first] = outcome?.type === "waiting" ? outcome.approvals : [];
  await runtime.execution(id).decide({ [first?.callId ?? "none waits"]: { allow } });
}

test("a program that waits gives its model one handle, and goes on by itself once a person has decided", async () => {
  await using refunds = await openLater();
  const run = await programOf(refunds.runtime);
  const text = await run(ONE);
  const handle = handleOf(text);
  expect(text.replace(handle, "HANDLE")).toBe(
    'The program waits for a person to approve a call of refund. Nothing is lost, and it continues by itself once that is there: do not run it again. For its result, call run_program later with {"code":"HANDLE"}.',
  );
  await decide(refunds.runtime, handle);
  const { report } = await refunds.runtime.execution(handle).wait();
  expect(report?.outcome).toEqual({ type: "completed", value: "paid 1" });
  expect([await run(handle), refunds.asked, refunds.paid]).toEqual(['"paid 1"', ["1"], [1]]);
});

test("a program that waits again keeps its handle", async () => {
  await using refunds = await openLater();
  const run = await programOf(refunds.runtime);
  const first = await run(THREE);
  const handle = handleOf(first);
  // A model that asks too early reads the same text, and nobody is asked again.
  expect([await run(handle), await run(` ${handle};\n`), refunds.asked]).toEqual([first, first, ["1"]]);
  const texts = [];
  for (const _ of PAID) {
    await decide(refunds.runtime, handle);
    texts.push(await run(handle));
  }
  expect(texts).toEqual([first, first, JSON.stringify(PAID)]);
  expect([refunds.asked, refunds.paid]).toEqual([
    ["1", "2", "3"],
    [1, 2, 3],
  ]);
});

test("the handle holds after the host has ended, and what was decided meanwhile is done once", async () => {
  const journal = createMemoryJournal();
  let handle: string;
  {
    await using refunds = await openLater(journal);
    handle = handleOf(await (await programOf(refunds.runtime))(ONE));
  }
  await using refunds = await openLater(journal);
  const run = await programOf(refunds.runtime);
  await decide(refunds.runtime, handle);
  expect(await Promise.all([run(handle), run(handle)])).toEqual(['"paid 1"', '"paid 1"']);
  expect(refunds.paid).toEqual([1]);
});

test("the same program sent again while it waits has the same handle, and nobody is asked again", async () => {
  await using refunds = await openLater();
  const run = await programOf(refunds.runtime);
  const text = await run(ONE);
  expect([await run(ONE), await run(` ${ONE}\n`), refunds.asked]).toEqual([text, text, ["1"]]);
  await decide(refunds.runtime, handleOf(text));
  await refunds.runtime.execution(handleOf(text)).wait();
  expect([await run(handleOf(text)), refunds.paid]).toEqual(['"paid 1"', [1]]);
  await expect.poll(async () => handleOf(await run(ONE)) === handleOf(text)).toBe(false);
  expect([refunds.asked, refunds.paid]).toEqual([["1", "1"], [1]]);
});

test.each(['"$"', "return '$';", "```js\n$\n```", '{"code":"$"}', "await load('$')"])(
  "a handle is one as models wrap it: %s",
  async (wrapped) => {
    await using refunds = await openLater();
    const run = await programOf(refunds.runtime);
    const text = await run(ONE);
    expect(await run(wrapped.replace("$", handleOf(text)))).toBe(text);
    // Beside other code it is code.
    expect(await run(`return (await tools.refund({ n: 2 })) + "${handleOf(text)}";`)).not.toBe(text);
  },
);

test("a program whose call was denied is told so", async () => {
  await using refunds = await openLater();
  const run = await programOf(refunds.runtime);
  const handle = handleOf(await run("return tools.refund({ n: 1 }).catch(({ code }) => code);"));
  await decide(refunds.runtime, handle, false);
  expect(await run(handle)).toBe('"approval_denied"');
  expect(refunds.paid).toEqual([]);
});

test("a handle that nobody was given, or another tenant, fails, and runs nothing", async () => {
  await using refunds = await openLater();
  const handle = handleOf(await (await programOf(refunds.runtime))(THREE));
  await using other = refunds.runtime.derive({ tenant: "other" });
  for (const [runtime, given] of [
    [other, handle],
    [refunds.runtime, handle.replaceAll(/\d/g, "0")],
  ] as const)
    await expect((await programOf(runtime))(given)).rejects.toThrow(
      "There is no program with this handle, and none was run.",
    );
  expect(refunds.paid).toEqual([]);
});
