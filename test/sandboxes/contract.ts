import { afterAll, expect, test } from "vitest";
import type { Language } from "../../bridge/frames.ts";
import { PortcullisError } from "../../src/base/index.ts";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { someOf, testOfAll } from "../support/all-tests.ts";
import { answerPing, heardUntil, iterate, LIMITS, openGuest, startText } from "../support/guests.ts";
import { CONTRACT_PROGRAMS } from "./contract-programs.ts";

/** In what sandboxes may differ. Everything else holds for all. */
export interface Capabilities {
  /** A guest that does not yield, or takes all memory, can be ended. */
  readonly ends: "anything" | "what yields";
  /** The language whose guests are held to it here; JavaScript where nothing is said. */
  readonly language?: Language;
  /** Each guest takes a container of its own: `make test` has one of each kind of ending. */
  readonly guests?: "containers";
}

/** What every sandbox promises, of each language that it runs. */
export function sandboxContract(
  makeSandbox: () => Sandbox,
  { ends, language = "javascript", guests }: Capabilities,
): void {
  const often = guests === "containers" ? testOfAll : test;
  const sandbox = makeSandbox();
  const programs = CONTRACT_PROGRAMS[language];
  const READY = `{"kind":"ready","protocol":1,"language":"${language}"}`;
  const open = (from = sandbox) => openGuest(from, "test", LIMITS, language);
  afterAll(() => sandbox[Symbol.asyncDispose]());

  often("a guest sends ready, and no other frame before its start", async () => {
    await using guest = await open();
    const frames = iterate(guest);
    expect(await heardUntil(frames, "ready")).toEqual([READY]);
    guest.send([startText("return 1")]);
    expect(await heardUntil(frames, "settled")).toEqual(['{"kind":"settled","ok":true,"notes":[]}\n1']);
    guest.release();
  });

  test("events that are sent together are turns of their own, in order", async () => {
    await using guest = await open();
    const frames = iterate(guest);
    guest.send([startText(programs.addsTwo), answerPing(2, "second"), answerPing(1, "first")]);
    expect(await heardUntil(frames, "settled")).toEqual([
      READY,
      '{"kind":"call","id":1,"tool":"ping"}\n{"n":1}',
      '{"kind":"call","id":2,"tool":"ping"}\n{"n":2}',
      '{"kind":"turn_end","open":2}',
      '{"kind":"turn_end","open":1}',
      '{"kind":"settled","ok":true,"notes":[]}\n"firstsecond"',
    ]);
    guest.release();
  });

  often("two guests run at once and share nothing", async () => {
    await using one = await open();
    await using two = await open();
    const [framesOfOne, framesOfTwo] = [iterate(one), iterate(two)];
    one.send([startText(programs.keepsName("one"))]);
    two.send([startText(programs.keepsName("two"))]);
    await heardUntil(framesOfOne, "turn_end");
    await heardUntil(framesOfTwo, "turn_end");
    two.send([answerPing(1, 0)]);
    one.send([answerPing(1, 0)]);
    expect((await heardUntil(framesOfOne, "settled")).at(-1)).toContain('\n"one"');
    expect((await heardUntil(framesOfTwo, "settled")).at(-1)).toContain('\n"two"');
    one.release();
    two.release();
  });

  test("a program finds nothing that an earlier one left", async () => {
    for (const expected of ['"first"', '"first"']) {
      const guest = await open();
      const frames = iterate(guest);
      guest.send([startText(programs.leavesTraces)]);
      expect((await heardUntil(frames, "settled")).at(-1)).toBe(`{"kind":"settled","ok":true,"notes":[]}\n${expected}`);
      guest.release();
      expect(await guest.exit).toEqual({ type: "released" });
    }
  });

  often("after a release no frame arrives, and sent frames are discarded", async () => {
    const guest = await open();
    const frames = iterate(guest);
    guest.send([startText("return 1")]);
    await heardUntil(frames, "settled");
    guest.release();
    guest.send([answerPing(1, 0)]);
    expect(await frames.next()).toEqual({ done: true, value: undefined });
    guest.kill("too late");
    expect(await guest.exit).toEqual({ type: "released" });
  });

  test("the first reason for an end counts", async () => {
    const guest = await open();
    guest.kill("first");
    guest.kill("second");
    guest.release();
    expect(await guest.exit).toEqual({ type: "killed", reason: "first" });
  });

  test("a frame over frameBytes ends the guest as broken", async () => {
    await using guest = await open();
    guest.send([
      startText("return 1")
        .replace('"frameBytes":1048576', '"frameBytes":99999999')
        .replace("return 1", programs.returnsTooMuch),
    ]);
    expect(await guest.exit).toEqual({
      type: "broken",
      detail: `a frame of ${'{"kind":"settled","ok":true,"notes":[]}\n""'.length + 1_048_576} bytes, at most ${LIMITS.frameBytes} are allowed`,
    });
  });

  test("a language that the sandbox does not run is refused with a sentence", async () => {
    const options = { language: "cobol" as Language, limits: LIMITS, tenant: "test" };
    const opening = sandbox.open(options, AbortSignal.timeout(60_000));
    await expect(opening).rejects.toThrow("not cobol");
    await expect(opening).rejects.toSatisfy(
      (error) => PortcullisError.is(error) && error.code === "sandbox_unavailable",
    );
  });

  often("nothing is opened once the signal is aborted", async () => {
    const reason = new Error("not wanted any more");
    const opening = sandbox.open({ language, limits: LIMITS, tenant: "test" }, AbortSignal.abort(reason));
    await expect(opening).rejects.toBe(reason);
  });

  test("disposing of a guest ends it, and disposing of a sandbox ends all its guests", async () => {
    const own = makeSandbox();
    const guests = [await open(own), await open(own)];
    await guests[0]?.[Symbol.asyncDispose]();
    expect(await guests[0]?.exit).toEqual({ type: "killed", reason: "disposed" });
    await own[Symbol.asyncDispose]();
    expect(await guests[1]?.exit).toEqual({ type: "killed", reason: "the sandbox was closed" });
  });

  if (ends === "what yields") return;

  test("a guest that never yields can be ended", async () => {
    const guest = await open();
    const frames = iterate(guest);
    guest.send([startText(programs.neverYields)]);
    await heardUntil(frames, "turn_end");
    guest.send([answerPing(1, 0)]);
    guest.kill("enough");
    expect(await guest.exit).toEqual({ type: "killed", reason: "enough" });
  });

  test.each(someOf(programs.takeAllMemory, 1))(
    "a guest that takes all memory by %s ends for memory",
    async (_kind, program) => {
      await using guest = await open();
      guest.send([startText(program)]);
      expect((await guest.exit).type).toBe("memory");
      expect(guest.usage().peakMemoryBytes).toBeGreaterThan(0);
    },
  );
}
