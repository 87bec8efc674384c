import { ALL_TESTS } from "../support/all-tests.ts";

/** `make test-all` takes a large queue. */
const ROWS = ALL_TESTS ? 140_000 : 10_000;

const PROGRAMS: Readonly<Record<string, readonly [program: string, returns: unknown]>> = {
  "returns a value": ["return {'a': [1, 'two', None]}", { a: [1, "two", null] }],
  "calls tools one after the other": [
    "total = 0\nfor n in range(5):\n    total += (await tools.echo(n=n))['n']\ntotal",
    10,
  ],
  "calls tools at once": [
    "import asyncio\nfound = await asyncio.gather(*(tools.later(n=n) for n in [1, 2, 3]))\n[one['n'] for one in found]",
    [1, 2, 3],
  ],
  "keeps what failed": [
    "found = await asyncio.gather(tools.echo(n=1), tools.broken(), return_exceptions=True)\nreturn [one['n'] if isinstance(one, dict) else one.code for one in found]",
    [1, "handler_failed"],
  ],
  "runs a task group": [
    "rows = []\n\nasync def fetch(n: int) -> None:\n    rows.append((await tools.later(n=n, ms=n % 3))['n'])\n\nasync with asyncio.TaskGroup() as group:\n    for n in range(10):\n        group.create_task(fetch(n))\nreturn sorted(rows)",
    Array.from({ length: 10 }, (_, n) => n),
  ],
  sleeps: [
    "order = []\n\nasync def nap(ms):\n    await asyncio.sleep(ms / 1000)\n    order.append(ms)\n\nawait asyncio.gather(nap(30), nap(10), nap(20))\nreturn order",
    [10, 20, 30],
  ],
  "reads pages with an async generator": [
    "async def pages():\n    for page in range(4):\n        yield (await tools.echo(page=page))['page']\n\nreturn [page async for page in pages()]",
    [0, 1, 2, 3],
  ],
  "works through a queue with four workers": [
    "queue = asyncio.Queue()\ndone = []\n\nasync def worker():\n    while True:\n        n = await queue.get()\n        done.append((await tools.later(n=n, ms=n % 3))['n'])\n        queue.task_done()\n\nfor n in range(20):\n    queue.put_nowait(n)\nworkers = [asyncio.create_task(worker()) for _ in range(4)]\nawait queue.join()\nfor one in workers:\n    one.cancel()\nreturn sorted(done)",
    Array.from({ length: 20 }, (_, n) => n),
  ],
  "lets the clock and the dice into its inputs": [
    "import random, time, uuid\nfrom datetime import datetime\nsent = {'at': time.time(), 'now': datetime.now(), 'dice': random.random(), 'id': uuid.uuid4()}\nback = await tools.echo(sent)\nreturn back == {**sent, 'now': sent['now'].isoformat(), 'id': str(sent['id'])}",
    true,
  ],
  "walks through sets of objects of classes with bases, with slots, and made by type()": [
    "import abc\nfrom typing import Generic, TypeVar\n\nclass Shape(abc.ABC):\n    pass\n\nclass Box(Generic[TypeVar('T')]):\n    pass\n\nclass Failed(Exception):\n    pass\n\nclass Point:\n    __slots__ = ('n',)\n\norders = []\nfor cls in (Shape, Box, Failed, Point, type('Made', (Shape,), {}), asyncio.Event):\n    objects = {cls(): n for n in range(200)}\n    orders.append([objects[one] for one in set(objects)])\nback = await tools.echo(orders=orders)\nreturn back['orders'] == orders",
    true,
  ],
  "takes many rows from a queue with a timeout for each": [
    `queue = asyncio.Queue()\nfor n in range(${ROWS}):\n    queue.put_nowait(n)\ntotal = 0\nwhile not queue.empty():\n    async with asyncio.timeout(5):\n        total += await queue.get()\nreturn total`,
    (ROWS * (ROWS - 1)) / 2,
  ],
  "walks through the set of 1,500 tasks that are done": [
    "tasks = [asyncio.create_task(asyncio.sleep(0, n)) for n in range(1500)]\ndone, _ = await asyncio.wait(tasks)\norder = [one.result() for one in done]\nback = await tools.echo(order=order)\nreturn back['order'] == order and len(order)",
    1500,
  ],
  "stands in a fence": ["Here's the program:\n```python\nrow = await tools.echo(n=3)\nrow['n'] * 2\n```", 6],
  "is a main function with what people put under it": [
    "import asyncio\nfrom __future__ import annotations\n\nasync def main() -> int:\n    return (await tools.echo(n=4))['n']\n\nif __name__ == '__main__':\n    asyncio.run(main())",
    4,
  ],
  "passes tools numbers that JSON does not have": [
    [
      "import decimal",
      "told = []",
      "for n in [float('nan'), {'a': [-float('inf')]}, decimal.Decimal('NaN'), decimal.Decimal(2**53 + 1)]:",
      "    try:",
      "        await tools.echo(n=n)",
      "    except Exception as error:",
      "        told.append(str(error))",
      "return told",
    ].join("\n"),
    [
      'The input of echo holds nan at ["n"]: JSON has no such number.',
      'The input of echo holds -inf at ["n"]["a"][0]: JSON has no such number.',
      'The input of echo holds NaN at ["n"]: JSON has no such number.',
      'The input of echo holds Decimal 9007199254740993 at ["n"]: turn it into a float or a string first.',
    ],
  ],
};

/** Python programs as models write them, and what each must return: run, and replayed. */
export const ORDINARY_PYTHON_PROGRAMS = Object.entries(PROGRAMS).map(([does, [program, returns]]) => ({
  does,
  program,
  returns,
}));
