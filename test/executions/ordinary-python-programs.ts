import { ALL_TESTS } from "../support/all-tests.ts";

/** `make test-all` takes a large queue. */
const ROWS = ALL_TESTS ? 140_000 : 10_000;

/** Python programs as models write them, and what each must return: run, and replayed. */
export const ORDINARY_PYTHON_PROGRAMS: readonly {
  readonly does: string;
  readonly program: string;
  readonly returns: unknown;
}[] = [
  { does: "returns a value", program: "return {'a': [1, 'two', None]}", returns: { a: [1, "two", null] } },
  {
    does: "calls tools one after the other",
    program: "total = 0\nfor n in range(5):\n    total += (await tools.echo(n=n))['n']\ntotal",
    returns: 10,
  },
  {
    does: "calls tools at once",
    program:
      "import asyncio\nfound = await asyncio.gather(*(tools.later(n=n) for n in [1, 2, 3]))\n[one['n'] for one in found]",
    returns: [1, 2, 3],
  },
  {
    does: "keeps what failed",
    program:
      "found = await asyncio.gather(tools.echo(n=1), tools.broken(), return_exceptions=True)\nreturn [one['n'] if isinstance(one, dict) else one.code for one in found]",
    returns: [1, "handler_failed"],
  },
  {
    does: "runs a task group",
    program:
      "rows = []\n\nasync def fetch(n: int) -> None:\n    rows.append((await tools.later(n=n, ms=n % 3))['n'])\n\nasync with asyncio.TaskGroup() as group:\n    for n in range(10):\n        group.create_task(fetch(n))\nreturn sorted(rows)",
    returns: Array.from({ length: 10 }, (_, n) => n),
  },
  {
    does: "sleeps",
    program:
      "order = []\n\nasync def nap(ms):\n    await asyncio.sleep(ms / 1000)\n    order.append(ms)\n\nawait asyncio.gather(nap(30), nap(10), nap(20))\nreturn order",
    returns: [10, 20, 30],
  },
  {
    does: "reads pages with an async generator",
    program:
      "async def pages():\n    for page in range(4):\n        yield (await tools.echo(page=page))['page']\n\nreturn [page async for page in pages()]",
    returns: [0, 1, 2, 3],
  },
  {
    does: "works through a queue with four workers",
    program:
      "queue = asyncio.Queue()\ndone = []\n\nasync def worker():\n    while True:\n        n = await queue.get()\n        done.append((await tools.later(n=n, ms=n % 3))['n'])\n        queue.task_done()\n\nfor n in range(20):\n    queue.put_nowait(n)\nworkers = [asyncio.create_task(worker()) for _ in range(4)]\nawait queue.join()\nfor one in workers:\n    one.cancel()\nreturn sorted(done)",
    returns: Array.from({ length: 20 }, (_, n) => n),
  },
  {
    does: "lets the clock and the dice into its inputs",
    program:
      "import random, time, uuid\nfrom datetime import datetime\nsent = {'at': time.time(), 'now': datetime.now(), 'dice': random.random(), 'id': uuid.uuid4()}\nback = await tools.echo(sent)\nreturn back == {**sent, 'now': sent['now'].isoformat(), 'id': str(sent['id'])}",
    returns: true,
  },
  {
    does: "walks through sets of objects of classes with bases, with slots, and made by type()",
    program:
      "import abc\nfrom typing import Generic, TypeVar\n\nclass Shape(abc.ABC):\n    pass\n\nclass Box(Generic[TypeVar('T')]):\n    pass\n\nclass Failed(Exception):\n    pass\n\nclass Point:\n    __slots__ = ('n',)\n\norders = []\nfor cls in (Shape, Box, Failed, Point, type('Made', (Shape,), {}), asyncio.Event):\n    objects = {cls(): n for n in range(200)}\n    orders.append([objects[one] for one in set(objects)])\nback = await tools.echo(orders=orders)\nreturn back['orders'] == orders",
    returns: true,
  },
  {
    does: "takes many rows from a queue with a timeout for each",
    program: `queue = asyncio.Queue()\nfor n in range(${ROWS}):\n    queue.put_nowait(n)\ntotal = 0\nwhile not queue.empty():\n    async with asyncio.timeout(5):\n        total += await queue.get()\nreturn total`,
    returns: (ROWS * (ROWS - 1)) / 2,
  },
  {
    does: "walks through the set of 1,500 tasks that are done",
    program:
      "tasks = [asyncio.create_task(asyncio.sleep(0, n)) for n in range(1500)]\ndone, _ = await asyncio.wait(tasks)\norder = [one.result() for one in done]\nback = await tools.echo(order=order)\nreturn back['order'] == order and len(order)",
    returns: 1500,
  },
  {
    does: "stands in a fence",
    program: "Here's the program:\n```python\nrow = await tools.echo(n=3)\nrow['n'] * 2\n```",
    returns: 6,
  },
  {
    does: "is a main function with what people put under it",
    program:
      "import asyncio\nfrom __future__ import annotations\n\nasync def main() -> int:\n    return (await tools.echo(n=4))['n']\n\nif __name__ == '__main__':\n    asyncio.run(main())",
    returns: 4,
  },
  {
    does: "passes tools numbers that JSON does not have",
    program: [
      "import decimal",
      "told = []",
      "for n in [float('nan'), {'a': [-float('inf')]}, decimal.Decimal('NaN'), decimal.Decimal(2**53 + 1)]:",
      "    try:",
      "        await tools.echo(n=n)",
      "    except Exception as error:",
      "        told.append(str(error))",
      "return told",
    ].join("\n"),
    returns: [
      'The input of echo holds nan at ["n"]: JSON has no such number.',
      'The input of echo holds -inf at ["n"]["a"][0]: JSON has no such number.',
      'The input of echo holds NaN at ["n"]: JSON has no such number.',
      'The input of echo holds Decimal 9007199254740993 at ["n"]: turn it into a float or a string first.',
    ],
  },
];
