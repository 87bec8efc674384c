import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createRuntime } from "portcullis";
import type { Scene } from "../scene.ts";
import model, { QUESTIONS } from "./model.ts";
import tools, { DOCUMENTS, folder } from "./tools.ts";

/** The tools of a coding agent answer three questions about this repository: files, an agent that reads them, and SQL on a real file. */
export default async function code({ heading, print, signal }: Scene): Promise<boolean> {
  try {
    await using runtime = await createRuntime({ tools });
    await using talk = await runtime.conversation({
      model,
      signal,
      onEvent: (event) => {
        if (event.type === "program_started") print(event.source.replaceAll(/^/gm, "  | "));
        if (event.type === "call_ended" && event.caller === "direct") print(`  · ${event.tool}: ${event.outcome.type}`);
      },
    });
    const answers: (string | undefined)[] = [];
    for (const question of QUESTIONS) {
      heading(question);
      const { answer } = await talk.send(question);
      print(answer ?? "There is no answer.");
      answers.push(answer);
    }
    return JSON.stringify(answers) === JSON.stringify(expected());
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The answers, computed by other code from the files themselves. */
function expected(): readonly string[] {
  const documents = readdirSync(DOCUMENTS)
    .filter((name) => name.endsWith(".md"))
    .map((path) => ({ path, lines: readFileSync(join(DOCUMENTS, path), "utf8").split("\n") }));
  const stores = documents.find(({ lines }) => lines.includes("### What providers store"));
  const headings = documents
    .map(({ path, lines }) => ({ path, count: lines.filter((line) => /^#+ /.test(line)).length }))
    .toSorted((one, other) => other.count - one.count || (one.path < other.path ? -1 : 1));
  const keys = new Set(documents.flatMap(({ lines }) => lines.join("\n").match(/[A-Z]+_API_KEY/g) ?? []));
  return [
    `It is ${stores?.path ?? "none"}.`,
    headings
      .slice(0, 3)
      .map(({ path, count }) => `${path} (${count})`)
      .join(", "),
    `${[...keys].toSorted().join(", ")}.`,
  ];
}
