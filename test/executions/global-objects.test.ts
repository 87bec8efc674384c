import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createRuntime, type Runtime } from "../../src/index.ts";
import { createIsolateSandbox } from "../../src/sandboxes/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { echo } from "../support/tools.ts";

/** What the engine's process must not inherit. */
vi.stubEnv("TZ", "Asia/Tokyo");
vi.stubEnv("LANG", "de_DE.UTF-8");
vi.stubEnv("LC_ALL", "de_DE.UTF-8");

describe.each([
  ["memory", createMemorySandbox()],
  ["isolate", createIsolateSandbox()],
])("global objects on the %s sandbox", (_name, sandbox) => {
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await createRuntime({ tools: [echo], sandbox });
  });
  afterAll(async () => {
    await runtime[Symbol.asyncDispose]();
    await sandbox[Symbol.asyncDispose]();
  });
  const run = async (program: string) => (await runtime.execute(program)).outcome;
  const expectValue = async (program: string, value: unknown) =>
    expect(await run(program)).toEqual({ type: "completed", value });

  test("an error that a global object throws is reported at the program's line", async () => {
    expect(await run("const a = 1;\nconst b = new URL('nonsense');")).toMatchObject({
      type: "failed",
      fault: { name: "TypeError", line: 2 },
    });
    expect(await run("let a;\na = 1;\nAbortSignal.abort().throwIfAborted();")).toMatchObject({
      type: "failed",
      fault: { name: "AbortError", message: "This operation was aborted" },
    });
  });

  test("a listener that throws ends the program, as a timer's callback does", async () => {
    const program =
      "const c = new AbortController();\nc.signal.onabort = () => { throw new Error('heard'); };\nc.abort();\nawait new Promise((r) => setTimeout(r, 5));";
    expect(await run(program)).toMatchObject({ type: "failed", fault: { message: "heard", line: 2 } });
  });

  test("a program may replace and remove global objects, also before their first use", async () => {
    await expectValue("URL = 1; globalThis.Buffer = 2; return [URL, Buffer];", [1, 2]);
    await expectValue("delete globalThis.URL; return [typeof URL, 'URL' in globalThis];", ["undefined", false]);
    await expectValue("return class URL extends globalThis.URL {}.canParse('https://a.example');", true);
    await expectValue("return [URL === URL, new URL('https://a.example') instanceof URL];", [true, true]);
    const names =
      "URL URLSearchParams TextEncoder TextDecoder AbortController AbortSignal DOMException Event EventTarget atob btoa structuredClone Buffer";
    await expectValue(`return [${names.replaceAll(" ", ", ")}].map(({ name }) => name).join(" ");`, names);
  });

  test.each([
    "Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => { throw new Error('taken'); };",
    "for (const name of Object.getOwnPropertyNames(String.prototype)) try { String.prototype[name] = () => { throw new Error('taken'); }; } catch {}",
    "for (const name of ['get', 'set', 'value', 'exports', 'url', 'text']) Object.defineProperty(Object.prototype, name, { __proto__: null, configurable: true, get() { throw new Error('taken'); }, set() { throw new Error('taken'); } });",
    "globalThis.Function = globalThis.Object = globalThis.Array = globalThis.Map = globalThis.TypeError = undefined;",
    "Array.prototype[Symbol.iterator] = Array.prototype.push = Map.prototype.set = Map.prototype.get = () => { throw new Error('taken'); };",
    "Error.prepareStackTrace = () => { throw new Error('taken'); }; Error.stackTraceLimit = 0;",
  ])(
    "a program that breaks its realm breaks them for itself, and its calls and its ending stay true: %s",
    async (attack) => {
      const program = `${attack}
      let broken = 0;
      const uses = [() => new URL('https://ä.example/?a=b'), () => Buffer.from('a').toString('hex'),
        () => structuredClone({ a: [1] }), () => new TextEncoder().encode('ä'), () => AbortSignal.timeout(1),
        () => console.table([{ a: 1 }]), () => console.log('%s', {}), () => crypto.randomUUID()];
      for (let n = 0; n < uses.length; n += 1) try { uses[n](); } catch { broken += 1; }
      return (await tools.echo({ n: 1 })).n;`;
      expect(await run(program)).toEqual({ type: "completed", value: 1 });
    },
  );

  test("structuredClone keeps types, cycles and holes, at any depth, and refuses what has no copy", async () => {
    await expectValue(
      `const e = new RangeError("far", { cause: { a: 1 } });
       const view = new Uint16Array([1, 2, 3]).subarray(1);
       const all = [new Date(5), /a/gi, new Set([view]), e, Object(1n), new DataView(new ArrayBuffer(2)), new Error("plain")];
       const [date, pattern, set, error, boxed, data, plain] = structuredClone(all);
       const [copied] = set;
       return [date.getTime(), String(pattern), copied instanceof Uint16Array, copied.length, copied[0], copied !== view,
         error instanceof RangeError, error.message, error.cause.a, typeof boxed, data.byteLength, plain.name];`,
      [5, "/a/gi", true, 2, 2, true, true, "far", 1, "object", 2, "Error"],
    );
    await expectValue("const a = [1, , 3]; return [1 in structuredClone(a), structuredClone(a).length];", [false, 3]);
    await expectValue(
      "let deep = null; for (let n = 0; n < 100000; n += 1) deep = { deep }; let copy = structuredClone(deep), n = 0; while (copy) { copy = copy.deep; n += 1; } return n;",
      100_000,
    );
    await expectValue(
      "return [() => 1, Symbol('a'), Promise.resolve(), new WeakMap(), new AbortController().signal].map((one) => { try { structuredClone({ one }); return 'copied'; } catch (error) { return error.name; } });",
      Array.from({ length: 5 }, () => "DataCloneError"),
    );
    await expectValue(
      "const c = structuredClone(JSON.parse('{\"__proto__\": {\"a\": 1}}')); return [c.a === undefined, Object.hasOwn(c, '__proto__')];",
      [true, true],
    );
  });

  test.skipIf(!("Temporal" in globalThis))(
    "Temporal, where V8 has it, tells the program's time in UTC, and replays",
    async () => {
      const { outcome, execution } = await runtime.execute(
        "const { Now } = Temporal; return [Now.instant().epochMilliseconds === Date.now(), Now.timeZoneId(), Now.plainDateISO().toString() === new Date().toISOString().slice(0, 10), Now.zonedDateTimeISO().timeZoneId, Now.plainTimeISO().hour === new Date().getUTCHours(), Now.plainDateTimeISO('Asia/Tokyo').hour === (new Date().getUTCHours() + 9) % 24];",
      );
      expect(outcome).toEqual({ type: "completed", value: [true, "UTC", true, "UTC", true, true] });
      expect(await runtime.execution(execution).replay()).toEqual({ type: "identical" });
    },
  );
});

test("the process of an engine has its own locale and zone, whatever those of the host are", async () => {
  await using runtime = await createRuntime({ tools: [], sandbox: createIsolateSandbox() });
  const { outcome } = await runtime.execute(
    "return [(1234.5).toLocaleString(), new Date(0).getHours(), Intl.DateTimeFormat().resolvedOptions().timeZone];",
  );
  expect(outcome).toEqual({ type: "completed", value: ["1,234.5", 0, "UTC"] });
});
