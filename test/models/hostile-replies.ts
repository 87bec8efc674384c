import * as fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { type AgentReport, type Tool } from "../../src/index.ts";
import type { Transcript } from "../../src/runtime/reports.ts";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { makeTool } from "../gate/open-session.ts";
import type { ServerEvent } from "./loopback.ts";
import { MODES, modelOfBodies, sse, type Wire, type WireTurn, written } from "./wire.ts";
import { type Change, changed, changes, DEEP, placesIn } from "../support/changed.ts";
import { runs, runtimeWith, someOf, testOfAll } from "../support/index.ts";

/** Gives the model behind replies that are never looked at before they are sent a task. After them the model answers. */
async function askHostile(
  wire: Wire,
  stream: boolean,
  replies: readonly string[],
  tools: readonly Tool[],
  before?: Transcript,
): Promise<Pick<AgentReport, "ending">> {
  const answer = written(wire, { text: "Done." }, stream, 99);
  const model = modelOfBodies(wire, stream, [...replies, answer]);
  await using runtime = await runtimeWith(tools);
  if (!before) return await runtime.agent({ model, task: "Do it.", loop: { maxTurns: 3 } });
  await using talk = await runtime.conversation({ model, from: before });
  return await talk.send("Go on.");
}

// ---- replies that were changed ---------------------------------------------------------------------------------

const change = changes("\ud800", "x".repeat(70_000), DEEP);

const TURN: WireTurn = {
  text: "I call.",
  calls: [
    { id: "c1", tool: "read", input: { who: "read" } },
    { id: "c2", tool: "remove_all", input: { who: "remove_all" } },
    { id: "c3", program: "return 1" },
  ],
};

// ---- parts of several calls by turns ---------------------------------------------------------------------------

/** Parts of each call stay in their order; between calls anything goes. */
function interleaved<Part>(lists: readonly (readonly Part[])[], picks: readonly number[]): Part[] {
  const left = lists.map((list) => [...list]);
  const found: Part[] = [];
  for (let at = 0; left.some(({ length }) => length > 0); at += 1) {
    const open = left.filter(({ length }) => length > 0);
    const part = open[(picks[at % Math.max(1, picks.length)] ?? 0) % open.length]?.shift();
    if (part !== undefined) found.push(part);
  }
  return found;
}

/** Which call an event of a stream is a part of; undefined for what belongs to none. */
function callOf({ data }: ServerEvent): number | undefined {
  if (!data.startsWith("{")) return undefined;
  const event = JSON.parse(data) as Record<string, never> & { readonly choices?: readonly [Chunk?] };
  const [choice] = event.choices ?? [];
  return event.output_index ?? (choice ? choice.delta?.tool_calls?.[0]?.index : event.index);
}

interface Chunk {
  readonly delta?: { readonly tool_calls?: readonly [{ readonly index?: number }?] };
}

const LONG = "x".repeat(40);

/** Two tools, what they were called with, and a third that must not be called at all. */
function watched() {
  const made: string[] = [];
  const tools = ["read", "remove_all"].map((name) =>
    makeTool({
      name,
      allowedCallers: ["direct"],
      effect: name === "read" ? "read" : "write",
      execute: (input: unknown) => made.push(`${name} ${JSON.stringify(input)}`),
    }),
  );
  return { tools, made };
}

const callsOf = (names: readonly string[]) =>
  names.map((tool, index) => ({ id: `c${index}`, tool, input: { who: tool, at: index, pad: LONG } }));

/** Whatever a provider sends: an ending, and no call with an input that is not its own. */
export function survivesHostileReplies(name: string, wire: Wire): void {
  describe.each(MODES)(`${name}, hostile replies, %s`, (_, stream) => {
    // What ends a turn is the same text, however it comes: each place of a reply in turn has it.
    const ofEndings = stream ? testOfAll : test;
    test("whatever is changed in a reply, the conversation ends", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (all) => {
          const { tools } = watched();
          const reply = stream
            ? sse(changedEvents(wire.events(TURN, 1), all))
            : jsonOrRaw(changed(wire.json(TURN, 1), all));
          const { ending } = await askHostile(wire, stream, [reply], tools);
          expect(ending.type).toMatch(/^(answered|refused|cut_off|provider_failed|turns_spent)$/);
        }),
        { numRuns: runs(60) },
      );
    });

    /** The endings but for answers, as JSON, where each place of a reply in turn has this value. */
    const endingsWith = async (turn: WireTurn, value: string) => {
      const told: string[] = [];
      for (const place of placesIn(wire.json(turn, 1)).keys()) {
        const change = { place, kind: "set", value } as const;
        const reply = stream
          ? sse(wire.events(turn, 1).map((event) => repeatedIn(event, change)))
          : JSON.stringify(changed(wire.json(turn, 1), [change]));
        const { ending } = await askHostile(wire, stream, [reply], []);
        if (ending.type !== "answered") told.push(JSON.stringify(ending));
      }
      return told;
    };

    ofEndings("wherever a provider repeats the key, no ending has it", async () => {
      const turns: readonly WireTurn[] = [{ text: "No.", end: "refused" }, { text: "Half", end: "cut_off" }, TURN];
      for (const turn of someOf(turns, 1))
        for (const told of await endingsWith(turn, `Your key is ${wire.key}, is it not?`))
          expect(told).not.toContain(wire.key);
    });

    ofEndings("a provider's long reason for a turn's end is shortened", async () => {
      for (const told of await endingsWith({ text: "No.", end: "refused" }, "No. ".repeat(10_000)))
        expect(told.length).toBeLessThan(3000);
    });

    test("a number of an input that no double keeps reaches no tool as another number", async () => {
      const { tools, made } = watched();
      const [exact, other] = ["9007199254740993", "9007199254740992"];
      const calls = [{ tool: "read", inputText: `{"id":${exact}}` }];
      const reply = written(wire, { calls }, stream);
      // Where the input is an object of the reply, it was parsed to make it.
      const { ending } = await askHostile(wire, stream, [reply.replaceAll(other, exact)], tools);
      expect(ending.type).toBe("answered");
      expect(made.filter((one) => one !== `read {"id":"${exact}"}`)).toEqual([]);
    });

    test("a reply that costs more to parse than to send is not parsed", async () => {
      const whole = written(wire, TURN, stream);
      for (const [added, fault] of [
        [`"x":[${"[],".repeat(70_000)}0],`, "holds more than 65536 values"],
        [`"x":${"[".repeat(40_000)}${"]".repeat(40_000)},`, "is nested more than 1000 levels deep"],
        [`"x":"${"x".repeat(5 * 1024 * 1024)}",`, "has more than 4194304 bytes"],
      ] as const) {
        const { tools, made } = watched();
        const { ending } = await askHostile(wire, stream, [whole.replace("{", `{${added}`)], tools);
        expect(ending).toMatchObject({
          type: "provider_failed",
          failure: { code: "reply_invalid", message: expect.stringContaining(fault) as string },
        });
        expect(made).toEqual([]);
      }
    });

    test.each(["this model has written", "another model has, or a client of the gateway"])(
      "an input of many values, which are one text that %s, is parsed by nobody",
      async (who) => {
        const { tools, made } = watched();
        const inputText = `{"a":[${"[],".repeat(70_000)}0]}`;
        const calls = [{ tool: "read", inputText }];
        const other = scriptedModel([{ calls }, { text: "Done." }]);
        await using runtime = await runtimeWith(tools);
        const before =
          who === "this model has written" ? undefined : await runtime.agent({ model: other, task: "Do it." });
        const turn = before ? { text: "Done." } : { calls };
        const reply = written(wire, turn, stream);
        const parsed: string[] = [];
        const { parse } = JSON;
        const spy = vi.spyOn(JSON, "parse").mockImplementation((text: string) => {
          parsed.push(text);
          return parse(text) as unknown;
        });
        await askHostile(wire, stream, [reply], tools, before?.transcript);
        spy.mockRestore();
        expect(parsed.filter((text) => text === inputText)).toEqual([]);
        expect(made).toEqual([]);
      },
    );
  });

  test.each([
    ["cut_off", "before"],
    ["cut_off", "after"],
    ["refused", "before"],
    ["refused", "after"],
  ] as const)(
    `${name}, hostile replies, a stream that says that it is whole and that it is not (%s, %s) makes no call`,
    async (end, order) => {
      const { tools, made } = watched();
      const calls = callsOf(["read", "remove_all"]);
      const events = wire.events({ calls }, 1);
      const lastOf = (list: readonly ServerEvent[]) =>
        list.slice(-wire.lastEvents).filter(({ data }) => data.startsWith("{"));
      const whole = lastOf(events);
      const broken = lastOf(wire.events({ calls, end }, 1));
      const begun = events.slice(0, -wire.lastEvents);
      const asked = (last: readonly ServerEvent[]) => askHostile(wire, true, [sse([...begun, ...last])], tools);
      // Not every provider says that a model refused where it says that a reply has ended.
      if ((await asked(broken)).ending.type === "answered") return;
      const { ending } = await asked(order === "before" ? [...broken, ...whole] : [...whole, ...broken]);
      expect(ending.type).toMatch(/^(refused|cut_off|provider_failed)$/);
      expect(made).toEqual([]);
    },
  );

  test(`${name}, hostile replies, in whatever order parts of calls come, no call is made with another's input`, async () => {
    const names = fc.array(fc.constantFrom("read", "remove_all"), { minLength: 2, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(
        names,
        fc.array(fc.nat(5), { minLength: 1, maxLength: 20 }),
        fc.boolean(),
        async (called, picks, isNumbered) => {
          const { tools, made } = watched();
          const calls = callsOf(called);
          const events = wire.events({ calls }, 1);
          const parts = calls.map((_, index) => events.filter((event) => callOf(event) === index));
          const first = events.findIndex((event) => callOf(event) !== undefined);
          const around = events.filter((event) => callOf(event) === undefined);
          const before =
            first < 0 ? around.length : events.slice(0, first).filter((event) => callOf(event) === undefined).length;
          const mixed = interleaved(parts, picks).map((event) => (isNumbered ? event : unnumbered(event)));
          const stream = [...around.slice(0, before), ...mixed, ...around.slice(before)];
          await askHostile(wire, true, [sse(stream)], tools);
          const meant = calls.map(({ tool, input }) => `${tool} ${JSON.stringify(input)}`);
          expect(made.filter((one) => !meant.includes(one))).toEqual([]);
          if (isNumbered) expect(made.toSorted()).toEqual(meant.toSorted());
        },
      ),
      { numRuns: runs(60) },
    );
  });
}

/** An event with its place of this number changed, where it has so many. */
function repeatedIn(event: ServerEvent, change: Change): ServerEvent {
  if (!event.data.startsWith("{")) return event;
  const whole: unknown = JSON.parse(event.data);
  return change.place < placesIn(whole).length ? { ...event, data: JSON.stringify(changed(whole, [change])) } : event;
}

/** An event that does not say where it belongs. */
function unnumbered(event: ServerEvent): ServerEvent {
  return { ...event, data: event.data.replace(/"(output_)?index":\d+,?/g, "").replace(/,\}/g, "}") };
}

function changedEvents(events: readonly ServerEvent[], all: readonly Change[]): ServerEvent[] {
  const list = [...events];
  for (const one of all) {
    const at = one.place % Math.max(1, list.length);
    const event = list[at];
    if (!event) continue;
    if (one.kind === "repeat") list.splice((at * 7) % list.length, 0, event);
    else if (one.kind === "delete" && one.place % 3 === 0) list.splice(at, 1);
    else if (event.data.startsWith("{"))
      list[at] = { ...event, data: jsonOrRaw(changed(JSON.parse(event.data) as unknown, [one])) };
  }
  return list;
}

/** What is too deep for the writer is written by hand. */
function jsonOrRaw(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    return `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
  }
}
