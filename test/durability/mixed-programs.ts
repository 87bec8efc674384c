import type { Language } from "../../bridge/frames.ts";

/**
 * Programs that make 200 calls: reads, writes, idempotent ones, failures, approvals that are given at once and later,
 * calls of clients, one after the other and at once, with timers between them. Twice all that is left waits outside.
 */
export const MIXED_PROGRAMS: Readonly<Partial<Record<Language, string>>> = {
  javascript: `
    let sum = 0;
    const seen = [];
    const wait = () => new Promise((resolve) => setTimeout(resolve, 1));
    for (let half = 0; half < 2; half += 1) {
      for (let round = 0; round < 7; round += 1) {
        const n = 100 * half + 10 * round;
        for (const name of ["read", "put", "pay"]) sum += await tools[name]({ n });
        const all = [1, 2, 3].flatMap((m) => [tools.read({ n: n + m }), tools.put({ n: n + m })]);
        sum += (await Promise.all([...all, tools.pay({ n })])).reduce((one, other) => one + other);
        try { await tools.fails({ n }); } catch (error) { seen.push(error.code); }
        await wait();
        let timer;
        const late = new Promise((resolve) => { timer = setTimeout(resolve, 1_000_000_000); });
        sum += await Promise.race([tools.read({ n: 5 }), late]);
        clearTimeout(timer);
        console.log("round", half, round, sum);
      }
      const outside = [1, 2, 3, 4, 5, 6, 7, 8].flatMap((n) => [tools.refund({ n }), tools.ask({ n })]);
      const settled = await Promise.allSettled(outside);
      sum += settled.reduce((total, { value = 0 }) => total + value, 0);
      seen.push(settled.filter(({ status }) => status === "rejected").map(({ reason }) => reason.code).join());
    }
    return { sum, seen, random: typeof Math.random() };`,
  python: `
import asyncio
total = 0
seen = []
for half in range(2):
    for turn in range(7):
        n = 100 * half + 10 * turn
        for tool in (tools.read, tools.put, tools.pay):
            total += await tool(n=n)
        both = [tool(n=n + m) for m in (1, 2, 3) for tool in (tools.read, tools.put)]
        total += sum(await asyncio.gather(*both, tools.pay(n=n)))
        try:
            await tools.fails(n=n)
        except Exception as error:
            seen.append(error.code)
        await asyncio.sleep(0.001)
        total += await tools.read(n=5)
        print("round", half, turn, total)
    outside = [tool(n=n) for n in range(1, 9) for tool in (tools.refund, tools.ask)]
    settled = await asyncio.gather(*outside, return_exceptions=True)
    total += sum(one for one in settled if not isinstance(one, Exception))
    seen.append(",".join(one.code for one in settled if isinstance(one, Exception)))
return {"sum": total, "seen": seen, "random": "number"}
`,
};

/** Calls that each of the programs makes. */
export const MIXED_CALLS = 2 * (7 * 12 + 16);
