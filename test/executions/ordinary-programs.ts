/** Programs as models write them, and what each must return: run on every sandbox; run, and replayed. */
export const ORDINARY_PROGRAMS: readonly {
  readonly does: string;
  readonly program: string;
  readonly returns: unknown;
}[] = [
  { does: "returns a value", program: "return { a: [1, 'two', null] };", returns: { a: [1, "two", null] } },
  {
    does: "calls tools one after the other",
    program: "let sum = 0;\nfor (let n = 0; n < 5; n += 1) sum += (await tools.echo({ n })).n;\nreturn sum;",
    returns: 10,
  },
  {
    does: "calls tools at once",
    program: "const all = await Promise.all([1, 2, 3].map((n) => tools.later({ n })));\nreturn all.map(({ n }) => n);",
    returns: [1, 2, 3],
  },
  {
    does: "takes the first of several calls",
    program: "return (await Promise.race([tools.later({ ms: 60 }), tools.later({ ms: 1, first: true })])).first;",
    returns: true,
  },
  {
    does: "starts a call now and awaits it later",
    program:
      "const early = tools.later({ n: 1 });\nconst other = await tools.echo({ n: 2 });\nreturn (await early).n + other.n;",
    returns: 3,
  },
  {
    does: "handles a rejection late",
    program:
      "const early = tools.broken();\nawait tools.later({});\ntry {\n  await early;\n} catch (error) {\n  return error.code;\n}",
    returns: "handler_failed",
  },
  {
    does: "waits with timers",
    program:
      "const order = [];\nawait Promise.all([30, 10, 20].map(async (ms) => {\n  await new Promise((resolve) => setTimeout(resolve, ms));\n  order.push(ms);\n}));\nreturn order;",
    returns: [10, 20, 30],
  },
  {
    does: "reads pages with an async generator",
    program:
      "async function* pages() {\n  for (let page = 0; page < 4; page += 1) yield (await tools.echo({ page })).page;\n}\nconst seen = [];\nfor await (const page of pages()) seen.push(page);\nreturn seen;",
    returns: [0, 1, 2, 3],
  },
  {
    does: "works through a queue with four workers",
    program:
      "const queue = Array.from({ length: 20 }, (_, n) => n);\nconst done = [];\nconst worker = async () => {\n  for (let n = queue.shift(); n !== undefined; n = queue.shift()) done.push((await tools.later({ n, ms: n % 3 })).n);\n};\nawait Promise.all([worker(), worker(), worker(), worker()]);\nreturn done.toSorted((a, b) => a - b);",
    returns: Array.from({ length: 20 }, (_, n) => n),
  },
  {
    does: "lets the clock and the dice into its inputs",
    program:
      "const sent = { at: Date.now(), dice: Math.random(), id: crypto.randomUUID() };\nconst back = await tools.echo(sent);\nreturn JSON.stringify(back) === JSON.stringify(sent);",
    returns: true,
  },
  {
    does: "is written in TypeScript inside a fence",
    program:
      "Here is the program:\n```ts\ninterface Row { n: number }\nconst row = (await tools.echo({ n: 3 })) as Row;\nrow.n * 2\n```",
    returns: 6,
  },
  {
    does: "is an arrow function",
    program: "async ({ echo }) => {\n  const { n } = await echo({ n: 4 });\n  return n;\n};",
    returns: 4,
  },
  {
    does: "passes tools numbers, dates and elements that JSON does not have",
    program: [
      "const told = [];",
      "for (const n of [NaN, { a: [-Infinity] }, new Date(NaN), [1, [].missing], [, 1]])",
      "  await tools.echo({ n }).catch(({ code, message }) => told.push(`${code}: ${message}`));",
      "return told;",
    ].join("\n"),
    returns: [
      "input_invalid: The input of echo holds NaN at .n: JSON has no such number.",
      "input_invalid: The input of echo holds -Infinity at .n.a[0]: JSON has no such number.",
      "input_invalid: The input of echo holds an invalid date at .n: JSON has no such date.",
      "input_invalid: The input of echo holds undefined at .n[1]: JSON holds data only.",
      "input_invalid: The input of echo holds undefined at .n[0]: JSON holds data only.",
    ],
  },
];
