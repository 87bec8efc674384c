import { type ScriptedMoment, scriptedModel, type ScriptedTurn } from "portcullis/testing";

/** Lines that it reads at once. */
const LINES = 12;
const TALK = /(?<time>\d+:\d+), (?<hall>[^:]+): Glaciers that sing/;
const NEXT = /offset=(?<offset>\d+)/;

/** Stands for a real model: it reads on, page by page, as each result says, until it has found the talk. */
function readOn({ results }: ScriptedMoment): ScriptedTurn {
  const page = results[0]?.text ?? "";
  const talk = TALK.exec(page)?.groups;
  if (talk) return { text: `It begins at ${talk.time} in the ${talk.hall}.` };
  const offset = NEXT.exec(page)?.groups?.offset;
  if (results.length > 0 && offset === undefined) return { text: "The programme has no such talk." };
  const from = offset === undefined ? {} : { offset: Number(offset) };
  return { calls: [{ tool: "read_file", input: { path: "programme.md", limit: LINES, ...from } }] };
}

export default scriptedModel(
  Array.from({ length: 10 }, () => readOn),
  { name: "scripted:read-file" },
);
