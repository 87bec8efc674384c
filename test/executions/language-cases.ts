import type { Language } from "../../bridge/frames.ts";
import type { Limits } from "../../src/executions/limits.ts";
import { ORDINARY_PROGRAMS } from "./ordinary-programs.ts";
import { ORDINARY_PYTHON_PROGRAMS } from "./ordinary-python-programs.ts";

/** The programs with which the behaviour that all languages share is tested, in one language. */
export interface LanguageCases {
  /** Programs as models write them, and what each must return. */
  readonly ordinary: readonly { readonly does: string; readonly program: string; readonly returns: unknown }[];
  /** Calls `meet` 50 times at once, and returns the number of results. */
  readonly meets: string;
  /** Starts a call of `slow` that it does not await, calls `echo`, and returns "done". */
  readonly leavesRead: string;
  /** Starts a call of `pay` that it does not await; one of them makes another call before it returns. */
  readonly leavesWrite: readonly string[];
  /** Returns the result of `broken` in its first line, at column 8. */
  readonly fails: string;
  /** Fails with "begins", 100,000 characters of two units each, and "ends". */
  readonly failsAtLength: string;
  /** Waits for what cannot happen. */
  readonly neverSettles: string;
  /** Awaits `hang`, and prints "goodbye" when that fails. */
  readonly saysGoodbye: string;
  readonly returnsEcho: string;
  /** Calls `echo` until a call fails, and returns the numbers that it sent and the error's code. */
  readonly catchesLimit: string;
  readonly callsForever: string;
  /** Calls `big` for ever. */
  readonly callsBigForever: string;
  /** Prints 500 lines: a number, ten characters of three bytes each, and half a character. */
  readonly printsLines: string;
  /** Prints a line of "x" and 5,000 characters of four bytes each. */
  readonly printsLongLine: string;
  /** Prints as many texts of 50 lines each, numbered, with ten characters. */
  readonly printsTables: (texts: number) => string;
  /** Returns a list of a thousand objects `{ n }`. */
  readonly returnsList: string;
  /** Programs that are stopped, with the limit. */
  readonly stopped: readonly (readonly [program: string, limit: keyof Limits | "memoryBytes"])[];
  /** As many calls, combined in all usual ways; the clock and the dice go into inputs. */
  readonly mixed: { readonly calls: number; readonly program: string };
}

const MIXED_JAVASCRIPT = `
let calls = 0;
const call = (input) => { calls += 1; return tools.later({ ms: calls % 4, ...input }); };
const failing = () => { calls += 1; return tools.broken(); };
for (let round = 0; round < 10; round += 1) {
  await Promise.all(Array.from({ length: 10 }, (_, n) => call({ n, dice: Math.random() })));
  const timer = new Promise((resolve) => setTimeout(resolve, 2));
  await Promise.race([call({ a: 1 }), call({ b: 2 }), call({ c: 3 }), timer]);
  await Promise.allSettled([call({}), failing(), call({}), failing(), call({ at: Date.now() })]);
  for (let n = 0; n < 6; n += 1) await call({ id: crypto.randomUUID() });
}
async function* pages(count) { for (let page = 0; page < count; page += 1) yield call({ page }); }
for await (const page of pages(60)) console.log(page.page);
const queue = Array.from({ length: 200 }, (_, n) => n);
const worker = async () => { for (let n = queue.shift(); n !== undefined; n = queue.shift()) await call({ n }); };
await Promise.all([worker(), worker(), worker(), worker()]);
return { calls };
`;

const MIXED_PYTHON = `
import random, time, uuid
from datetime import datetime

calls = 0

def call(**fields):
    global calls
    calls += 1
    return tools.later(ms=calls % 4, **fields)

def failing():
    global calls
    calls += 1
    return tools.broken()

async def loose(n):
    return (await call(n=n, at=time.time()))["n"]

for round in range(4):
    await asyncio.gather(*(call(n=n, dice=random.random()) for n in range(6)))
    done, pending = await asyncio.wait(
        [asyncio.ensure_future(one) for one in (call(a=1), call(b=2), asyncio.sleep(0.002))],
        return_when=asyncio.FIRST_COMPLETED,
    )
    print("done", [sorted(one.result() or {}) for one in done], len(pending))
    await asyncio.wait(pending)
    settled = await asyncio.gather(call(), failing(), call(now=datetime.now()), return_exceptions=True)
    print([type(one).__name__ for one in settled])
    async with asyncio.TaskGroup() as group:
        tasks = {group.create_task(loose(n)) for n in range(5)}
    print([one.result() for one in tasks])
    try:
        async with asyncio.timeout(0.001):
            await call(slow=True)
            await asyncio.sleep(5)
    except TimeoutError:
        print("timeout", time.monotonic())
    for one in asyncio.as_completed([loose(n) for n in range(3)]):
        print(await one)
    await call(id=uuid.uuid4(), other=uuid.uuid1(), tags=list({"a", "b", "c", str(random.random())}))

queue = asyncio.Queue()
for n in range(140 - calls):
    queue.put_nowait(n)

async def worker(name):
    while not queue.empty():
        n = queue.get_nowait()
        await call(n=n, worker=name)
        await asyncio.sleep(random.random() / 1000)

await asyncio.gather(*(worker(name) for name in "abcd"))
return {"calls": calls}
`;

export const LANGUAGE_CASES: Readonly<Record<Language, LanguageCases>> = {
  javascript: {
    ordinary: ORDINARY_PROGRAMS,
    meets: "return (await Promise.all(Array.from({ length: 50 }, () => tools.meet()))).length;",
    leavesRead: "tools.slow();\nawait tools.echo();\nreturn 'done';",
    leavesWrite: ["tools.pay();\nawait tools.echo();\nreturn 'done';", "tools.pay();\nreturn 'done';"],
    fails: "return tools.broken();",
    failsAtLength: 'throw new Error(`begins${"😀".repeat(100_000)}ends`)',
    neverSettles: "await tools.echo();\nawait new Promise(() => {});",
    saysGoodbye: "try {\n  await tools.hang();\n} finally {\n  console.log('goodbye');\n}",
    returnsEcho: "return tools.echo();",
    catchesLimit:
      "const seen = [];\ntry {\n  for (;;) seen.push((await tools.echo({ n: seen.length })).n);\n} catch (error) {\n  return [seen, error.code];\n}",
    callsForever: "for (;;) await tools.echo();",
    callsBigForever: "for (;;) await tools.big();",
    printsLines: "for (let n = 0; n < 500; n += 1) console.log(`${n} 語語語語語語語語語語語 \\ud800`);",
    printsLongLine: "console.log('x' + '😀'.repeat(5000));",
    printsTables: (texts) =>
      `for (let n = 0; n < ${texts}; n += 1) console.log(Array.from({ length: 50 }, (_, line) => line + " xxxxxxxxxx").join("\\n"));`,
    returnsList: "return Array.from({ length: 1000 }, (_, n) => ({ n }));",
    stopped: [
      ["return 'x'.repeat(9_000_000);", "frameBytes"],
      ["await tools.hang();", "wallMs"],
    ],
    mixed: { calls: 500, program: MIXED_JAVASCRIPT },
  },
  python: {
    ordinary: ORDINARY_PYTHON_PROGRAMS,
    meets: "len(await asyncio.gather(*(tools.meet() for _ in range(50))))",
    leavesRead: "tools.slow()\nawait tools.echo()\nreturn 'done'",
    leavesWrite: ["tools.pay()\nawait tools.echo()\nreturn 'done'", "tools.pay()\nreturn 'done'"],
    fails: "return tools.broken()",
    failsAtLength: "raise ValueError(f\"begins{'😀' * 100_000}ends\")",
    neverSettles: "await tools.echo()\nawait asyncio.Event().wait()",
    saysGoodbye: "try:\n    await tools.hang()\nfinally:\n    print('goodbye', end='')",
    returnsEcho: "return await tools.echo()",
    catchesLimit:
      "seen = []\ntry:\n    while True:\n        seen.append((await tools.echo(n=len(seen)))['n'])\nexcept ToolError as error:\n    return [seen, error.code]",
    callsForever: "while True:\n    await tools.echo()",
    callsBigForever: "while True:\n    await tools.big()",
    printsLines: "for n in range(500):\n    print(n, '語語語語語語語語語語語', '\\ud800')",
    printsLongLine: "print('x' + '😀' * 5000)",
    printsTables: (texts) =>
      `for n in range(${texts}):\n    print("\\n".join(f"{line} xxxxxxxxxx" for line in range(50)))`,
    returnsList: "return [{'n': n} for n in range(1000)]",
    stopped: [
      ["async with asyncio.TaskGroup() as g:\n    for n in range(9):\n        g.create_task(tools.echo(n=n))", "calls"],
      ["return 'x' * 9_000_000", "frameBytes"],
      ["await tools.hang()", "wallMs"],
      ["await asyncio.sleep(60)", "wallMs"],
      ["return [0] * 10**15", "memoryBytes"],
    ],
    mixed: { calls: 140, program: MIXED_PYTHON },
  },
};
