const PROGRAMS: Readonly<Record<string, readonly [program: string, returns: unknown]>> = {
  "returns a value": ["return { a: [1, 'two', null] };", { a: [1, "two", null] }],
  "calls tools one after the other": [
    "let sum = 0;\nfor (let n = 0; n < 5; n += 1) sum += (await tools.echo({ n })).n;\nreturn sum;",
    10,
  ],
  "calls tools at once": [
    "const all = await Promise.all([1, 2, 3].map((n) => tools.later({ n })));\nreturn all.map(({ n }) => n);",
    [1, 2, 3],
  ],
  "takes the first of several calls": [
    "return (await Promise.race([tools.later({ ms: 60 }), tools.later({ ms: 1, first: true })])).first;",
    true,
  ],
  "starts a call now and awaits it later": [
    "const early = tools.later({ n: 1 });\nconst other = await tools.echo({ n: 2 });\nreturn (await early).n + other.n;",
    3,
  ],
  "handles a rejection late": [
    "const early = tools.broken();\nawait tools.later({});\ntry {\n  await early;\n} catch (error) {\n  return error.code;\n}",
    "handler_failed",
  ],
  "waits with timers": [
    "const order = [];\nawait Promise.all([30, 10, 20].map(async (ms) => {\n  await new Promise((resolve) => setTimeout(resolve, ms));\n  order.push(ms);\n}));\nreturn order;",
    [10, 20, 30],
  ],
  "reads pages with an async generator": [
    "async function* pages() {\n  for (let page = 0; page < 4; page += 1) yield (await tools.echo({ page })).page;\n}\nconst seen = [];\nfor await (const page of pages()) seen.push(page);\nreturn seen;",
    [0, 1, 2, 3],
  ],
  "works through a queue with four workers": [
    "const queue = Array.from({ length: 20 }, (_, n) => n);\nconst done = [];\nconst worker = async () => {\n  for (let n = queue.shift(); n !== undefined; n = queue.shift()) done.push((await tools.later({ n, ms: n % 3 })).n);\n};\nawait Promise.all([worker(), worker(), worker(), worker()]);\nreturn done.toSorted((a, b) => a - b);",
    Array.from({ length: 20 }, (_, n) => n),
  ],
  "lets the clock and the dice into its inputs": [
    "const sent = { at: Date.now(), dice: Math.random(), id: crypto.randomUUID() };\nconst back = await tools.echo(sent);\nreturn JSON.stringify(back) === JSON.stringify(sent);",
    true,
  ],
  "is written in TypeScript inside a fence": [
    "Here is the program:\n```ts\ninterface Row { n: number }\nconst row = (await tools.echo({ n: 3 })) as Row;\nrow.n * 2\n```",
    6,
  ],
  "is an arrow function": ["async ({ echo }) => {\n  const { n } = await echo({ n: 4 });\n  return n;\n};", 4],
  "passes tools numbers, dates and elements that JSON does not have": [
    [
      "const told = [];",
      "for (const n of [NaN, { a: [-Infinity] }, new Date(NaN), [1, [].missing], [, 1]])",
      "  await tools.echo({ n }).catch(({ code, message }) => told.push(`${code}: ${message}`));",
      "return told;",
    ].join("\n"),
    [
      "input_invalid: The input of echo holds NaN at .n: JSON has no such number.",
      "input_invalid: The input of echo holds -Infinity at .n.a[0]: JSON has no such number.",
      "input_invalid: The input of echo holds an invalid date at .n: JSON has no such date.",
      "input_invalid: The input of echo holds undefined at .n[1]: JSON holds data only.",
      "input_invalid: The input of echo holds undefined at .n[0]: JSON holds data only.",
    ],
  ],
};

/** Programs as models write them, and what each must return: run on every sandbox; run, and replayed. */
export const ORDINARY_PROGRAMS = Object.entries(PROGRAMS).map(([does, [program, returns]]) => ({
  does,
  program,
  returns,
}));
