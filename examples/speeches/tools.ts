import { defineTool, PortcullisError } from "portcullis";
import { z } from "zod";
import { readData } from "../read-data.ts";

const Speech = z.object({ year: z.number(), name: z.string(), party: z.string(), text: z.string() });
const data = readData(new URL("speeches.json.br", import.meta.url));
const speeches = new Map(Object.entries(z.record(z.string(), Speech).parse(data)));

const listSpeeches = defineTool({
  name: "speeches.list",
  description: "State of the Union addresses from 1945 on, in the order of their years",
  inputSchema: z.object({
    from: z.number().int().optional().describe("first year"),
    to: z.number().int().optional().describe("last year"),
  }),
  outputSchema: z.array(Speech.omit({ text: true }).extend({ id: z.string() })),
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: ({ from = -Infinity, to = Infinity }) =>
    [...speeches]
      .filter(([, { year }]) => year >= from && year <= to)
      .map(([id, { year, name, party }]) => ({ id, year, name, party })),
});

const getSpeech = defineTool({
  name: "speeches.get",
  description: "One State of the Union address with its text",
  inputSchema: z.object({
    id: z.string().describe("from speeches.list"),
    maxChars: z
      .number()
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .describe("only the beginning; the whole text by default"),
  }),
  outputSchema: Speech,
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: ({ id, maxChars }) => {
    const speech = speeches.get(id);
    if (!speech) throw new PortcullisError("tool_failed", `There is no address ${id}: speeches.list gives the ids.`);
    return { ...speech, text: speech.text.slice(0, maxChars) };
  },
});

export default [listSpeeches, getSpeech];
