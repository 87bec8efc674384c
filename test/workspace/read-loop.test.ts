import { describe, expect, test } from "vitest";
import { ask } from "../models/provider.suite.ts";
import { serve } from "../models/wire.ts";
import { WIRES } from "../models/wires.ts";
import { Folder } from "./folder.ts";

const PNG = Buffer.from("89504e470d0a1a0a0000", "hex");

describe.each(WIRES)("%s", (_, wire) => {
  test.each([true, false])(
    "a model reads a file page by page, streamed: %s; also taken up after each turn",
    async (stream) => {
      await using folder = new Folder({ "notes.md": "one\ntwo\nthree\n" });
      await using served = await serve(wire, [
        { calls: [{ tool: "read_file", input: { path: "notes.md", limit: 2 } }] },
        { calls: [{ tool: "read_file", input: { path: "notes.md", offset: 3 } }] },
        { text: "It ends with three." },
      ]);
      const { ending, transcript } = await ask(served, { tools: folder.tools, programs: "none", stream });
      expect(ending).toEqual({ type: "answered", answer: "It ends with three." });
      expect(transcript.turns.map(({ results }) => results.map(({ text }) => JSON.parse(text) as unknown))).toEqual([
        [{ path: "notes.md", lines: 3, text: "1\tone\n2\ttwo", more: "1 more line: offset=3" }],
        [{ path: "notes.md", lines: 3, text: "3\tthree" }],
        [],
      ]);
      expect(served.refusals).toEqual([]);
    },
  );

  test("a refused path is a failed result, which the model reads", async () => {
    await using folder = new Folder({});
    await using served = await serve(wire, [
      { calls: [{ tool: "read_file", input: { path: "../secret" } }] },
      { text: "I may not." },
    ]);
    const { transcript } = await ask(served, { tools: folder.tools, programs: "none" });
    expect(transcript.turns[0]?.results).toMatchObject([{ isError: true, text: expect.stringContaining("leads out") }]);
    expect(served.asked[1]?.text).toContain("leads out");
  });

  test("an image is told, and carried where the protocol carries images in results", async () => {
    await using folder = new Folder({ "logo.png": PNG });
    await using served = await serve(wire, [
      { calls: [{ tool: "view_image", input: { path: "logo.png" } }] },
      { text: "A logo." },
    ]);
    const { ending } = await ask(served, { tools: folder.tools, programs: "none" });
    expect(ending.type).toBe("answered");
    expect(served.asked[1]?.text).toMatch(/with(?:out)? image \\"logo\.png\\"|iVBORw0KGgoAAA==/);
  });
});
