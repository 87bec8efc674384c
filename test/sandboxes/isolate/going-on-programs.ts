/** Keeps a turn going until its frames leave before the next event of the same batch is looked at. */
const WORKS = "for (let n = 0; n < 2e7; n += 1);";
const LOOPS = "for (;;);";
const GROWS = "const kept = []; for (;;) kept.push(new Array(1e5).fill(kept.length));";
const TICKS = "(function again() { Promise.resolve().then(again); })();";

/**
 * The second of two events that travel together does this, after the first has settled. Each may come first: a busy host answers
 * calls in any order.
 */
const inSecond = (then: string) =>
  `let came = 0; const come = () => { came += 1; if (came === 1) { ${WORKS} return "done"; } ${then} };`;
const inTimer = (then: string) =>
  `${inSecond(then)} return await new Promise((resolve) => { for (let n = 0; n < 2; n += 1) setTimeout(() => resolve(come()), 5); });`;
const inAnswer = (then: string) =>
  `${inSecond(then)} return await Promise.race([tools.echo().then(come), tools.echo().then(come)]);`;

/** Each gives "done", and goes on. */
export const SETTLES_FIRST: Readonly<Record<string, string>> = {
  "loops in a timer of the same batch": inTimer(LOOPS),
  "loops in an answer of the same batch": inAnswer(LOOPS),
  "grows in a timer of the same batch": inTimer(GROWS),
  "grows in an answer of the same batch": inAnswer(GROWS),
  "queues microtasks for ever in a timer of the same batch": inTimer(TICKS),
  "chains promises for ever in an answer of the same batch": inAnswer(
    "for (;;) await null;".replace(/^/, "(async () => {") + "})();",
  ),
  "computes on as the loser of a race": inAnswer(
    "let sum = 0; for (let n = 0; n < 1e9; n += 1) sum += n % 7; return sum;",
  ),
};

/** Each is still in the turn in which it returns or throws. */
export const NEVER_ENDS_THE_TURN: Readonly<Record<string, string>> = {
  "queues microtasks for ever before it returns": `${TICKS} return 1;`,
  "leaves an async generator running":
    "(async () => { for await (const n of (async function* () { for (;;) yield 1; })()) n; })(); return 1;",
  "loops in a getter of what it returns": `return { get value() { ${LOOPS} } };`,
  "begins microtasks in a getter of what it returns": `return { get value() { ${TICKS} return 1; } };`,
  "begins microtasks in toJSON of what it returns": `return { toJSON() { ${TICKS} return 1; } };`,
  "loops in a finally behind its return": `try { return 1; } finally { ${LOOPS} }`,
  "loops in a generator's finally that nothing awaits": `const it = (async function* () { try { yield 1; } finally { for (;;) await null; } })(); await it.next(); it.return(); return 1;`,
  "loops in a thenable that it returns": `return { then(resolve) { resolve(1); ${LOOPS} } };`,
  "loops in the text of what it throws": `throw Object.assign(new Error(), { get message() { ${LOOPS} } });`,
};
