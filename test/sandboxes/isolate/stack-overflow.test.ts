import { describe, expect, test } from "vitest";
import { createRuntime } from "../../../src/index.ts";
import { createIsolateSandbox } from "../../../src/sandboxes/isolate/isolate-sandbox.ts";
import type { TurnRecord } from "../../../src/journal/record.ts";
import { replay } from "../../../src/programs/replay.ts";
import { ALL_TESTS } from "../../support/all-tests.ts";
import { enginesOf } from "../../support/engines.ts";
import { echo, tool } from "../../support/tools.ts";

/** Each in an engine of its own, but for every fifth. The first five have every prefix and both kinds of engines. */
const REPLAYS = ALL_TESTS ? 20 : 2;
const never = new AbortController().signal;

/** A program that meets its stack's end in each of so many turns, and tells the depth at once and at its end. */
const inTurns = (turns: number, setUp: string, overflow: string) => `
  const seen = [];
  let depth = 0;
  const tell = () => { seen.push(depth); console.log(String(depth)); depth = 0; };
  ${setUp}
  for (let turn = 0; turn < ${turns}; turn += 1) {
    ${overflow}
    await tools.echo({ depth: seen.at(-1) });
  }
  return seen;`;
const caught = (overflow: string) => `try { ${overflow} } catch {} tell();`;

const PROGRAMS: Readonly<Record<string, string>> = {
  "in a plain function": inTurns(30, "const down = () => { depth += 1; down(); };", caught("down();")),
  "in a function that returns how deep it came": inTurns(
    12,
    "const down = (n) => { try { return down(n + 1); } catch { return n; } };",
    "depth = down(0); tell();",
  ),
  "in a function that gets hot": inTurns(
    12,
    "const down = (a, b) => { depth += 1; return down(b, a + 1) + 1; }; const sum = (n) => (n === 0 ? 0 : 1 + sum(n - 1));",
    `for (let round = 0; round < 5; round += 1) { ${caught("down(turn, round);")} } sum(500);`,
  ),
  "in a parser that gets hot before its text is too deep": inTurns(
    3,
    `let text, at;
     const expression = () => { let value = term(); while (text[at] === "+") { at += 1; value += term(); } return value; };
     const term = () => { depth += 1; if (text[at] !== "(") { at += 1; return 1; } at += 1; const value = expression(); at += 1; return value; };
     const parse = (levels) => { text = "(".repeat(levels) + "1" + ")".repeat(levels); at = 0; depth = 0; return expression(); };`,
    caught("for (let levels = 5000; ; levels += 211) parse(levels);"),
  ),
  "after awaits, in async functions": inTurns(
    4,
    "const down = async () => { depth += 1; await down(); }; const told = async (n) => { try { return await told(n + 1); } catch { return n; } };",
    `try { await down(); } catch {} tell(); depth = await told(0); tell();
     await Promise.all([1, 2, 3].map(async (n) => { await tools.echo({ n }); await down().catch(() => {}); })); tell();
     depth = (await Promise.allSettled([down(), down()])).length; tell();`,
  ),
  "in continuations of calls that run at once": `
    const seen = [];
    const down = (n) => { try { return down(n + 1); } catch { return n; } };
    const work = async (i) => {
      await tools.echo({ i });
      seen.push(down(0));
      if (i % 3 === 0) seen.push((await tools.echo({ depth: seen.at(-1) })).depth);
    };
    await Promise.all(Array.from({ length: 60 }, (_, i) => work(i)));
    return seen;`,
  "in timers": `
    const seen = [];
    await new Promise((resolve) => {
      const tick = () => {
        let depth = 0;
        const down = () => { depth += 1; down(); };
        try { down(); } catch {}
        seen.push(depth);
        if (seen.length < 40) setTimeout(tick, 1); else resolve();
      };
      tick();
    });
    return seen;`,
  "in JSON.stringify, JSON.parse and what they call": inTurns(
    6,
    "let nested = null; for (let n = 0; n < 6000; n += 1) nested = [nested]; const endless = { toJSON() { depth += 1; return { endless }; } };",
    `${caught("JSON.stringify(endless);")} ${caught("JSON.stringify(nested, (key, value) => { depth += 1; return value; });")}
     ${caught('JSON.parse(JSON.stringify({ a: [1, 2] }), function revive() { depth += 1; return JSON.parse("[1]", revive); });')}`,
  ),
  "in comparators, callbacks and replacers": inTurns(
    6,
    `const compare = (a, b) => { depth += 1; [3, 1, 2].sort(compare); return a - b; };
     const map = (n) => { depth += 1; return [n].map(map); };
     const replace = () => { depth += 1; return "ab".replace(/a/, replace); };`,
    `${caught("[3, 1, 2].sort(compare);")} ${caught("map(1);")} ${caught("replace();")}`,
  ),
  "in getters, proxies, constructors and generators": inTurns(
    6,
    `const getter = { get own() { depth += 1; return this.own; } };
     const proxy = new Proxy({}, { get: (target, key, receiver) => { depth += 1; return receiver[key]; } });
     class Endless { constructor() { depth += 1; this.inner = new Endless(); } }
     function* generate() { depth += 1; yield* generate(); }
     const text = { toString: () => { depth += 1; return \`\${text}\`; } };`,
    ["getter.own;", "proxy.own;", "new Endless();", "[...generate()];", "String(text);"].map(caught).join(" "),
  ),
  "beside garbage of all ages": inTurns(
    12,
    "let kept = []; const down = (a) => { depth += 1; const o = { a, s: 'x' + a, l: [a, a] }; kept.push(o); return down(o.a + 1) + o.l.length; };",
    `kept = []; ${caught("down(turn);")} for (let n = 0; n < 20000; n += 1) kept.push({ n, t: "y" + n });`,
  ),
};

describe("a caught stack overflow has the same depth in each replay, also beside many others", () => {
  test.each(Object.entries(PROGRAMS))("%s", { timeout: 180_000 }, async (_, program) => {
    await using fresh = createIsolateSandbox({ reuse: "never", engines: 4 });
    await using used = createIsolateSandbox({ engines: 1 });
    await using runtime = await createRuntime({ tools: [echo], sandbox: used, limits: { runningMs: 60_000 } });
    await runtime.execute("return 1;");
    const { execution, outcome } = await runtime.execute(program);
    expect(outcome.type).toBe("completed");
    const records = await Array.fromAsync(runtime.journal.read(execution));
    const turns = records.filter((record): record is TurnRecord => record.type === "turn").length;
    const prefixes = [0, 1, Math.floor(turns / 2), turns - 1];
    const replays = Array.from({ length: REPLAYS }, (__, index) =>
      replay(records, index % 5 === 0 ? used : fresh, never, prefixes[index % prefixes.length]),
    );
    expect(await Promise.all(replays)).toEqual(replays.map(() => ({ type: "identical" })));
  });
});

test("an execution that used its stack's depth is continued when its engine dies", { timeout: 60_000 }, async () => {
  await using sandbox = createIsolateSandbox({ engines: 1, warm: 1 });
  let deaths = 0;
  const dies = tool("dies", () => {
    if (deaths >= 3) return {};
    deaths += 1;
    for (const pid of enginesOf(process.pid)) process.kill(pid, "SIGKILL");
    return {};
  });
  await using runtime = await createRuntime({ tools: [echo, dies], sandbox, limits: { runningMs: 60_000 } });
  const { outcome } = await runtime.execute(
    inTurns(
      20,
      "const down = () => { depth += 1; down(); };",
      `${caught("down();")} if (turn % 5 === 4) await tools.dies();`,
    ),
  );
  expect(outcome.type).toBe("completed");
  expect(deaths).toBe(3);
});
