import { type ScriptedMoment, scriptedModel, type ScriptedTurn } from "portcullis/testing";

const STORED = "Which document says what the providers store of a conversation?";
/** What the conversation is asked. */
export const QUESTIONS = [
  STORED,
  "Which three documents have the most headings?",
  "Which keys of providers do the documents name?",
] as const;

const COLLECT = `const { paths } = await tools.list_files({ files: "*.md", limit: 200 });
const found = await Promise.all(
  paths.map((path) => tools.grep_files({ path, pattern: "^#+ |[A-Z]+_API_KEY", limit: 1000 })),
);
const rows = found.flatMap(({ matches }) => matches.map(({ path, line, text }) => ({ path, line, text })));
return { added: await tools.notes.add(JSON.stringify(rows)), of: paths.length };`;

const HEADINGS = `SELECT path, count(*) AS headings FROM lines WHERE text LIKE '#%'
GROUP BY path ORDER BY headings DESC, path LIMIT 3`;
const KEYS = "SELECT text FROM lines WHERE text LIKE '%_API_KEY%'";

/** Stands for a real model, of the conversation and of the agent that it asks. */
function play({ said, results: [result] }: ScriptedMoment): ScriptedTurn {
  const asked = said.at(-1) ?? "";
  // The agent has the question as its task, and no message before it.
  const isAgent = said.length === 1 && asked.startsWith("Look up: ");
  if (isAgent) return result ? agentAnswer(result.text) : SEARCH;
  if (asked === QUESTIONS[0])
    return result
      ? { text: `It is ${JSON.parse(result.text) as string}.` }
      : { calls: [{ tool: "task", input: { agent: "reader", task: `Look up: ${asked}` } }] };
  if (asked === QUESTIONS[1]) return result ? headingsTurn(result.text) : { programs: [COLLECT] };
  return result ? { text: `${keysIn(result.text).join(", ")}.` } : queryOf(KEYS);
}

const SEARCH: ScriptedTurn = { calls: [{ tool: "grep_files", input: { pattern: "^#+ What providers store" } }] };

function agentAnswer(text: string): ScriptedTurn {
  const { matches } = JSON.parse(text) as { readonly matches: readonly { readonly path: string }[] };
  return { text: matches[0]?.path ?? "none" };
}

function headingsTurn(text: string): ScriptedTurn {
  const read: unknown = JSON.parse(text);
  if (!Array.isArray(read)) return queryOf(HEADINGS);
  const rows = read as readonly { readonly path: string; readonly headings: number }[];
  return { text: rows.map(({ path, headings }) => `${path} (${headings})`).join(", ") };
}

function keysIn(text: string): readonly string[] {
  return [...new Set(text.match(/[A-Z]+_API_KEY/g))].toSorted();
}

/** A text as a call's input is JSON of a string. */
function queryOf(sql: string): ScriptedTurn {
  return { calls: [{ tool: "notes.query", input: sql }] };
}

export default scriptedModel(
  Array.from({ length: 10 }, () => play),
  { name: "scripted:code" },
);
