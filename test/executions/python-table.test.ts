import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { createDockerSandbox } from "../../src/sandboxes/docker/docker-sandbox.ts";
import { needDockerEngine } from "../docker-support/docker-engine.ts";
import { createForkedPythonSandbox, PYTHON } from "../support/python-process-sandbox.ts";
import { z } from "zod";
import { createRuntime } from "../../src/index.ts";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { blocks } from "../support/snippets.ts";
import { describeOfAll, makeTool, someOf } from "../support/index.ts";

const find = makeTool({
  name: "orders.find",
  inputSchema: z.object({ id: z.number(), limit: z.number().optional() }),
  execute: (input) => ({ input, customer: { name: "Ann" }, items: [1, 2] }),
});
const all = makeTool({
  name: "orders.all",
  inputSchema: z.object({ limit: z.number().optional() }),
  execute: () => [],
});

const rates = makeTool({
  name: "rates",
  outputSchema: z.object({ currency: z.string() }),
  stream: true,
  *execute() {
    for (const currency of ["EUR", "GBP", "USD"]) yield { currency };
  },
});
const orders = makeTool({
  name: "warehouse.orders",
  inputSchema: z.object({ customers: z.number() }),
  outputSchema: z.object({ customer: z.string(), cents: z.number() }),
  stream: true,
  execute: ({ customers }) => [1, 2, 3].map((cents) => ({ customer: `C${cents % customers}`, cents })),
});
const READ_IT = "read it with `async for item in ...`, or collect a small one with `[item async for item in ...]`.";

/** A program, with the value that it returns or the message of its error. */
type Case = readonly [program: string, ending: { readonly returns: unknown } | { readonly fails: string }];

const NO_NETWORK = "call a tool that fetches what is needed.";
const TABLES = "use lists of dicts with sorted(), collections and statistics.";
const NUMBERS = "use lists with math, statistics and itertools.";
const DATES = "use datetime and zoneinfo.";
/** An import of a package that this machine's interpreter does not find either, whatever it has installed. */
const missing = (name: string, advice: string): Case => [
  `import sys\nsys.path[:] = [path for path in sys.path if "-packages" not in path]\nimport ${name}`,
  { fails: `There is no package ${name}: ${advice}` },
];

/** For each line of the table its programs, by the line's first cell. */
const LINES: Readonly<Record<string, readonly Case[]>> = {
  "`await tools.orders.find(id=3, limit=10)`": [
    ['(await tools.orders.find(id=3, limit=10))["input"]', { returns: { id: 3, limit: 10 } }],
  ],
  '`await tools.orders.find({"id": 3})`': [
    ['(await tools.orders.find({"id": 3}))["input"]', { returns: { id: 3 } }],
    ["from types import SimpleNamespace as N\n(await tools.orders.find(N(id=3)))['input']", { returns: { id: 3 } }],
    [
      "from dataclasses import dataclass\n@dataclass\nclass Q:\n    id: int\n(await tools.orders.find(Q(3)))['input']",
      { returns: { id: 3 } },
    ],
  ],
  "`await tools.orders.find(3, limit=10)`": [
    ['(await tools.orders.find(3, limit=10))["input"]', { returns: { id: 3, limit: 10 } }],
    ['(await tools.orders.find(3))["input"]', { returns: { id: 3 } }],
    [
      "await tools.orders.all(3, limit=10)",
      { fails: "orders.all takes named fields only: name the first argument too." },
    ],
    [
      "await tools.orders.find(3, 10)",
      { fails: "orders.find takes named fields, or one dict of them, not several positional arguments." },
    ],
  ],
  "`await tools.orders.find(3, limit=None)`": [
    ['(await tools.orders.find(3, limit=None))["input"]', { returns: { id: 3 } }],
  ],
  "`async for rate in tools.rates():`": [
    [
      "async for rate in tools.rates():\n    break\n[rate.currency, (await tools.orders.find(1)).customer.name]",
      { returns: ["EUR", "Ann"] },
    ],
    ["[rate.currency async for rate in tools.rates()]", { returns: ["EUR", "GBP", "USD"] }],
    [
      "rates = tools.rates()\n[await anext(rates), [rate.currency async for rate in rates]]",
      { returns: [{ currency: "EUR" }, ["GBP", "USD"]] },
    ],
    [
      "from contextlib import aclosing\nasync with aclosing(tools.rates()) as rates:\n    return await anext(rates)",
      { returns: { currency: "EUR" } },
    ],
    [
      "rates = tools.rates()\nfor _ in range(2):\n    async for rate in rates:\n        break",
      {
        fails:
          "The stream of tools.rates(...) is read by another loop, or was: a stream is read once. Call the tool again, or keep the items that you need.",
      },
    ],
  ],
  "`await tools.rates()`, `for rate in tools.rates():`": [
    ["await tools.rates()", { fails: `tools.rates(...) gives a stream of items, which cannot be awaited: ${READ_IT}` }],
    [
      "for rate in tools.rates():\n    print(rate)",
      { fails: `tools.rates(...) gives a stream of items, which come later and not at once: ${READ_IT}` },
    ],
  ],
  '`await searchTools("an order", 5)`': [
    ['sorted(one.name for one in await searchTools("an order", 5))', { returns: ["orders.all", "orders.find"] }],
    [
      '(await searchTools("find an order by id", limit=1))[0]["stub"]',
      { returns: "await tools.orders.find(*, id: float, limit: float = ...) -> Any" },
    ],
  ],
  '`await save("rows", rows)`, `await load("rows")`': [
    ['await save("rows", [{"id": 1}])\n(await load("rows"))[0].id', { returns: 1 }],
    ['(await save(name="rows", value={1, 2})).shape', { returns: "number[] /* 2 */" }],
  ],
  "`order.customer.name`": [
    [
      "import json\norder = await tools.orders.find(3)\nreturn [order.customer.name, order['customer']['name'], isinstance(order, dict), order.customer == {'name': 'Ann'}, json.dumps(order.customer)]",
      { returns: ["Ann", "Ann", true, true, '{"name": "Ann"}'] },
    ],
    [
      "order = await tools.orders.find(3)\nreturn order.custommer",
      { fails: "the result has no field 'custommer' here; it has: input, customer, items" },
    ],
  ],
  '`order["items"]`': [
    ['order = await tools.orders.find(3)\nreturn order["items"]', { returns: [1, 2] }],
    ["order = await tools.orders.find(3)\nreturn sorted(order.items())[0][0]", { returns: "customer" }],
    [
      "order = await tools.orders.find(3)\nreturn [one for one in order.items]",
      {
        fails:
          "'builtin_function_or_method' object is not iterable. A dict has a method items: write [\"items\"] for the field of that name",
      },
    ],
  ],
  "`time.sleep(2)`": [
    [
      "import time\nbefore = time.time()\nearly = tools.orders.find(3)\nwhile not early.done():\n    time.sleep(0.02)\nreturn [early.done(), time.time() - before >= 0.02]",
      { returns: [true, true] },
    ],
    [
      "from time import sleep\nasync def nap():\n    sleep(0.01)\n    return 'slept'\nreturn await asyncio.gather(nap(), nap())",
      { returns: ["slept", "slept"] },
    ],
  ],
  "`time.sleep(2)` in a function that is not async": [
    [
      "import time\ndef nap():\n    time.sleep(2)\nnap()",
      {
        fails:
          "time.sleep() in a function that is not async would block every open call: make the function async, or write `await asyncio.sleep(seconds)` where it is called.",
      },
    ],
  ],
  '`asyncio.run(main())`, `if __name__ == "__main__":`': [
    ["async def main():\n    return 1\n\nif __name__ == '__main__':\n    asyncio.run(main())", { returns: 1 }],
  ],
  "`asyncio.gather`, `TaskGroup`, `as_completed`": [
    [
      "found = await asyncio.gather(*map(tools.orders.find, range(3)))\nasync with asyncio.TaskGroup() as group:\n    task = group.create_task(tools.orders.find(9))\nlate = [(await one).input.id for one in asyncio.as_completed([tools.orders.find(4)])]\nreturn [[one.input.id for one in found], task.result().input.id, late]",
      { returns: [[0, 1, 2], 9, [4]] },
    ],
  ],
  "`json`, `re`, `csv`, `datetime`, `statistics`, …": [
    [
      "import collections, csv, datetime, io, itertools, json, math, re, statistics, zoneinfo\nbefore = datetime.datetime.now()\nrows = list(csv.DictReader(io.StringIO('a,b\\n1,2')))\nberlin = datetime.datetime(2025, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).utcoffset()\nreturn [rows, statistics.mean([1, 2, 3]), re.findall(r'\\d', 'a1'), berlin.seconds, datetime.datetime.now() == before]",
      { returns: [[{ a: "1", b: "2" }], 2, ["1"], 7200, true] },
    ],
  ],
  "`random`, `uuid`, `secrets`": [
    [
      "import random, secrets, uuid\nreturn [random.random() < 1, len(str(uuid.uuid4())), len(secrets.token_hex(4))]",
      { returns: [true, 36, 8] },
    ],
  ],
  "`urllib.parse`": [["from urllib.parse import quote\nquote('a b')", { returns: "a%20b" }]],
  "`import urllib.request`, `import http.client`": [
    ["import urllib.request", { fails: `There is no network for urllib.request: ${NO_NETWORK}` }],
    ["from urllib import request", { fails: `There is no network for urllib.request: ${NO_NETWORK}` }],
    ["import http.client", { fails: `There is no network for http.client: ${NO_NETWORK}` }],
    ["from xml.sax.saxutils import escape\nescape('<')", { returns: "&lt;" }],
  ],
  "`import requests` (`httpx`, `aiohttp`)": ["requests", "httpx", "aiohttp"].map((name) => missing(name, NO_NETWORK)),
  "`import pandas` (`polars`), `import numpy` (`scipy`)": [
    ...["pandas", "polars"].map((name) => missing(name, TABLES)),
    ...["numpy", "scipy"].map((name) => missing(name, NUMBERS)),
    [
      "import sys\nsys.path.clear()\ntry:\n    import numpy\nexcept ImportError:\n    return 'without'",
      { returns: "without" },
    ],
  ],
  "`import dateutil` (`pytz`, `arrow`, `pendulum`)": ["dateutil", "pytz", "arrow", "pendulum"].map((name) =>
    missing(name, DATES),
  ),
  "`input()`": [["input()", { fails: "EOF when reading a line" }]],
};

/** Each line of the table of docs/programs.md, in guests of this sandbox. */
function pythonTableSuite(sandbox: Sandbox): void {
  afterAll(() => sandbox[Symbol.asyncDispose]());

  test.each(someOf(Object.entries(LINES), 12))("%s", async (_, cases) => {
    await using runtime = await createRuntime({ sandbox, tools: [find, all, rates] });
    for (const [program, ending] of cases) {
      const { outcome } = await runtime.execute(program, { language: "python" });
      if ("returns" in ending) expect(outcome).toEqual({ type: "completed", value: ending.returns });
      else expect(outcome).toMatchObject({ type: "failed", fault: { message: ending.fails } });
    }
  });

  test("the program in Python of docs/tools-and-callers.md reads a stream", async () => {
    const programs = blocks.filter(({ language }) => language === "python");
    expect(programs.map(({ where }) => where)).toEqual(["docs/tools-and-callers.md: Streams"]);
    await using runtime = await createRuntime({ sandbox, tools: [orders] });
    const { outcome } = await runtime.execute(programs[0]?.text ?? "", { language: "python" });
    expect(outcome).toEqual({ type: "completed", value: { C0: 3, C1: 1, C2: 2 } });
  });

  test("the table of docs/programs.md has these lines", () => {
    const [, section = ""] = readFileSync("docs/programs.md", "utf8").split(/^## Python$/m);
    const rows = (section.split(/^## /m)[0] ?? "").split("\n").filter((line) => line.startsWith("| "));
    const first = rows.slice(2).map((row) => row.split(" | ")[0]?.slice(2).trim());
    expect(first).toEqual(Object.keys(LINES));
  });
}

describe.skipIf(PYTHON.missing)("what Python programs may use, in a process", () =>
  pythonTableSuite(createForkedPythonSandbox()),
);

describeOfAll.skipIf(needDockerEngine() !== undefined)("what Python programs may use, in a container", () =>
  pythonTableSuite(createDockerSandbox({ warm: 1 })),
);
