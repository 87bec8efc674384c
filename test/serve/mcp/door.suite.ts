import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Address, Answer, Connect, TestClient } from "./clients.ts";

export interface SuiteOptions {
  readonly connect: Connect;
  readonly version: string;
  readonly address: () => Address;
}

/** What the tools of the client's door have done so far. */
const statementTo = async (client: Pick<TestClient, "call">) =>
  JSON.parse((await client.call("bank-statement")).text) as {
    readonly paid: readonly number[];
    readonly hanging: number;
    readonly stopped: number;
  };

/** What every client gets of the door, whatever its version and its transport. */
export function describeDoor({ connect, version, address }: SuiteOptions): void {
  let client: TestClient;
  const asked: string[] = [];
  let answer: ReturnType<Answer> = { action: "decline" };
  beforeAll(async () => {
    client = await connect(address(), (message) => {
      asked.push(message);
      return answer;
    });
  });
  afterAll(() => client[Symbol.asyncDispose]());
  const run = (code: string, options?: Parameters<TestClient["call"]>[2]) =>
    client.call("run_program", { code }, options);
  const statement = () => statementTo(client);

  test("its instructions describe programs, results, and the tools that it may call", async () => {
    expect(client.version).toBe(version);
    expect(client.instructions).toMatch(/^Use run_program [^.]+\.[^.]+\.[^.]+\.$/);
    expect(await client.list()).toEqual([
      "run_program",
      "result",
      "shop-list",
      "bank-pay",
      "bank-statement",
      "clock-hang",
      "clock-wait",
      "clock-go",
      "clock-stray",
    ]);
  });

  test("a program runs, and its result comes back", async () => {
    expect(await run("return (await tools.shop.list({ n: 40 })).length")).toEqual({
      text: "40",
      isError: false,
      links: [],
    });
    const failed = await run("return tools.shop.list({ n: 'many' })");
    expect(failed.isError).toBe(true);
    expect(failed.text).toMatch(/shop\.list.*: n\b/);
  });

  test("a tool is called directly", async () => {
    expect(await client.call("shop-list", { n: 1 })).toMatchObject({
      text: '[{"id":0,"name":"article 0"}]',
      isError: false,
    });
    expect(await client.call("shop.list", { n: 0 })).toMatchObject({ text: "[]" });
    expect((await client.call("shop-list", { n: "many" })).isError).toBe(true);
  });

  test("the user is asked about a call, in a program or not, and it runs once or not at all", async () => {
    const before = (await statement()).paid.length;
    answer = { action: "accept", content: { allow: true } };
    asked.length = 0;
    expect(await run("return [await tools.bank.pay({ cents: 1 }), await tools.bank.pay({ cents: 2 })]")).toMatchObject({
      text: '["paid 1","paid 2"]',
    });
    expect(await client.call("bank-pay", { cents: 3 })).toMatchObject({ text: '"paid 3"', isError: false });
    expect(asked).toEqual([
      'A program asks to call bank.pay with this input:\n  {"cents":1}\n  It changes something each time. Its description: Pays an amount',
      'A program asks to call bank.pay with this input:\n  {"cents":2}\n  It changes something each time. Its description: Pays an amount',
      'The model asks to call bank.pay with this input:\n  {"cents":3}\n  It changes something each time. Its description: Pays an amount',
    ]);
    answer = { action: "decline" };
    expect((await run("return tools.bank.pay({ cents: 4 })")).text).toContain("denied");
    expect((await client.call("bank-pay", { cents: 5 })).isError).toBe(true);
    expect((await statement()).paid.slice(before)).toEqual([1, 2, 3]);
  });

  test("a value that is too large stands there as its beginning, and is read whole", async () => {
    const { text, links } = await run("return tools.shop.list({ n: 3000 })");
    expect(JSON.parse(text)).toMatchObject({ count: 3000, shape: "{ id: number, name: string }[]" });
    expect(JSON.parse(await client.read(links[0] ?? ""))).toHaveLength(3000);
    const direct = await client.call("shop-list", { n: 2000 });
    expect(JSON.parse(await client.read(direct.links[0] ?? ""))).toHaveLength(2000);
    await expect(client.read("portcullis://values/none")).rejects.toThrow(/not found/i);
  });

  test("progress tells calls, in growing numbers", async () => {
    const told: { readonly progress: number; readonly message?: string | undefined }[] = [];
    const gate = randomUUID();
    // Each wait of the program ends once the client was told of it.
    await run(
      `await tools.shop.list({ n: 100 });
       for (const n of [1, 2]) await tools.clock.wait({ name: "${gate}" + n });
       return 1;`,
      {
        onprogress: (progress) => {
          told.push(progress);
          void client.call("clock-go", { name: `${gate}${told.length}` });
        },
      },
    );
    const numbers = told.map(({ progress }) => progress);
    expect(numbers.length).toBeGreaterThan(1);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
    expect(told.at(-1)?.message).toMatch(/^\d+ of \d+ calls done, the latest [\w.]+\.$/);
  });

  test("a request that is cancelled ends its program", async () => {
    const { stopped } = await statement();
    const cancel = new AbortController();
    const running = run("return tools.clock.hang({})", {
      signal: cancel.signal,
      onprogress: () => cancel.abort(new Error("enough")),
    });
    await expect(running).rejects.toThrow();
    await expect.poll(async () => (await statement()).stopped).toBe(stopped + 1);
  });
}

/** What a client gets of a door whose requests wait for a moment alone. */
export function describeImpatientDoor({ connect, address }: Pick<SuiteOptions, "connect" | "address">): void {
  test("a program that takes longer than a request waits is collected by its id, and can be ended", async () => {
    await using client = await connect(address());
    const run = (code: string) => client.call("run_program", { code });
    const executionOf = ({ text, isError }: { readonly text: string; readonly isError: boolean }) => {
      expect([isError, text]).toEqual([false, expect.stringMatching(/^The program still runs: /)]);
      return /\{"execution":"([^"]+)"\}/.exec(text)?.[1];
    };
    const name = randomUUID();
    const execution = executionOf(await run(`await tools.clock.wait({ name: "${name}" }); return "late"`));
    expect(executionOf(await client.call("result", { execution }))).toBe(execution);
    await client.call("clock-go", { name });
    const resultOf = (id: string | undefined) => expect.poll(() => client.call("result", { execution: id }));
    // The result is given again, also where reading it takes longer than a request waits.
    for (let times = 0; times < 2; times += 1)
      await resultOf(execution).toMatchObject({ text: '"late"', isError: false });
    const listed = JSON.parse((await client.call("result")).text) as readonly object[];
    expect(listed).toContainEqual(expect.objectContaining({ execution, state: "ended" }));

    const statement = () => statementTo(client);
    const before = await statement();
    const hanging = executionOf(await run("return tools.clock.hang({})"));
    await expect.poll(async () => (await statement()).hanging).toBe(before.hanging + 1);
    await client.call("result", { execution: hanging, cancel: true });
    await resultOf(hanging).toMatchObject({ isError: true, text: expect.stringContaining("cancelled") as string });
    await expect.poll(async () => (await statement()).stopped).toBe(before.stopped + 1);
  });
}

/** What a client gets that cannot ask its user. */
export function describeMuteClient({ connect, address }: Pick<SuiteOptions, "connect" | "address">): void {
  test("a call that needs approval is denied with a sentence to a client that cannot ask", async () => {
    await using mute = await connect(address());
    const { text, isError } = await mute.call("bank-pay", { cents: 9 });
    expect([isError, text]).toEqual([true, expect.stringContaining("cannot ask its user")]);
  });
}
