import type { Language } from "../../bridge/frames.ts";

/** Programs that read streams of `rows`, by language. */
export const STREAM_CASES = {
  javascript: {
    sum: `let count = 0, sum = 0;
      for await (const { id } of tools.rows({ n: 2500 })) { count += 1; sum += id; }
      return [count, sum];`,
    leaves: `let count = 0;
      for await (const row of tools.rows({ n: 100000 })) if (++count === 10) break;
      return [count, await tools.double({ n: 4 })];`,
    throws: `for await (const row of tools.rows({ n: 100000 })) if (row.id === 10) throw new Error("mine");`,
    merges: `const left = tools.rows({ n: 3000 }), right = tools.rows({ n: 4000 });
      const other = right[Symbol.asyncIterator]();
      let same = 0;
      for await (const { id } of left) if ((await other.next()).value.id === id) same += 1;
      await other.return();
      return same;`,
    awaitsMeanwhile: `let sum = 0;
      for await (const { id } of tools.rows({ n: 1000 })) sum += id % 100 === 0 ? await tools.double({ n: id }) : id * 2;
      return sum;`,
    catches: `let count = 0;
      try { for await (const row of tools.rows({ n: 2000, fails_at: 1500 })) count += 1; } catch (error) { return [count, error.code]; }`,
    refused: `try { for await (const row of tools.rows({ n: "many" })); } catch (error) { return error.code; }`,
    readsTwice: `const rows = tools.rows({ n: 10 });
      for await (const row of rows);
      for await (const row of rows);`,
    returns: `const rows = tools.rows({ n: 10 }); return { rows };`,
    usesAsList: `const [rows] = await Promise.all([tools.rows({ n: 10 })]);
      return rows.map(({ id }) => id);`,
    neverReads: `tools.rows({ n: 10 }); return 1;`,
  },
  python: {
    sum: `count = total = 0
async for row in tools.rows(n=2500):
    count += 1
    total += row.id
return [count, total]`,
    leaves: `count = 0
async for row in tools.rows(n=100000):
    count += 1
    if count == 10:
        break
return [count, await tools.double(n=4)]`,
    throws: `async for row in tools.rows(n=100000):
    if row.id == 10:
        raise ValueError("mine")`,
    merges: `from contextlib import aclosing
same = 0
async with aclosing(tools.rows(n=4000)) as other:
    async for row in tools.rows(n=3000):
        same += (await anext(other)).id == row.id
same`,
    awaitsMeanwhile: `total = 0
async for row in tools.rows(n=1000):
    total += await tools.double(n=row.id) if row.id % 100 == 0 else row.id * 2
total`,
    catches: `count = 0
try:
    async for row in tools.rows(n=2000, fails_at=1500):
        count += 1
except ToolError as error:
    return [count, error.code]`,
    refused: `try:
    async for row in tools.rows(n="many"):
        pass
except ToolError as error:
    return error.code`,
    readsTwice: `rows = tools.rows(n=10)
async for row in rows:
    pass
async for row in rows:
    pass`,
    returns: `{"rows": tools.rows(n=10)}`,
    usesAsList: `[row.id for row in tools.rows(n=10)]`,
    neverReads: `tools.rows(n=10)
return 1`,
  },
} satisfies Record<Language, Record<string, string>>;
