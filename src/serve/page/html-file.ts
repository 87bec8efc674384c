import { hash } from "node:crypto";
import type { ExecutionId } from "../../base/index.ts";
import { ifKnown } from "../../journal/reading/index.ts";
import type { Journal } from "../../journal/journal.ts";
import type { ConversationView } from "../views/view.ts";
import { viewExecution } from "../views/view-execution.ts";
import { pageText } from "./page-files.ts";

/** What a file holds of the texts of one execution: there is no server to ask for the rest. */
const FILE_BOUNDS = { each: 64 * 1024, all: 8 * 1024 * 1024 };
/** Programs of a conversation that are in its file. */
const PROGRAMS = 200;
/** Characters of a file, but for one execution. A browser has to read it, and V8 makes no text of 600 million. */
const FILE_LENGTH = 64 * 1024 * 1024;

/**
 * The page about one execution as one HTML file, which needs nothing else: the programs of a conversation are in it. It holds
 * what the tools returned. Rejects with `execution_unknown`, `journal_invalid`, and as the journal does.
 */
export async function htmlFile(journal: Journal, execution: ExecutionId) {
  const view = await viewExecution(journal, execution, FILE_BOUNDS);
  const ids = view.kind === "conversation" ? programsOf(view) : [];
  const texts = [jsonForHtml(view)];
  const taken = await addPrograms(journal, ids, texts);
  return {
    html: fileOf(texts),
    /** Programs of the conversation that are not in it, by their ids: it holds the first 200, and fewer if they are large. */
    left: ids.slice(taken),
  };
}

function programsOf({ turns }: ConversationView): readonly ExecutionId[] {
  return turns.flatMap(({ programs }) => programs.flatMap(({ execution }) => execution ?? []));
}

/** Adds views of programs as far as there is room. Resolves with how many were looked at. */
async function addPrograms(journal: Journal, ids: readonly ExecutionId[], texts: string[]): Promise<number> {
  let length = 0;
  for (const [taken, id] of ids.entries()) {
    if (taken === PROGRAMS) return taken;
    // Undefined for a program that was never begun.
    const view = await ifKnown(() => viewExecution(journal, id, FILE_BOUNDS));
    const text = view ? jsonForHtml(view) : "";
    length += text.length;
    if (length > FILE_LENGTH) return taken;
    if (text !== "") texts.push(text);
  }
  return ids.length;
}

/** `executions` are texts of JSON. */
function fileOf(executions: readonly string[]): string {
  const script = pageText("page.js");
  const style = pageText("page.css");
  const policy = [
    "default-src 'none'",
    `script-src '${digestOf(script)}'`,
    `style-src '${digestOf(style)}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Portcullis</title>
<style>${style}</style>
</head>
<body>
<div id="page"><noscript>This page needs JavaScript.</noscript></div>
<script type="application/json" id="data">{"executions":[${executions.join(",")}]}</script>
<script>${script}</script>
</body>
</html>
`;
}

/** JSON in which no character can end or begin an element. */
function jsonForHtml(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}

function digestOf(text: string): string {
  return `sha256-${hash("sha256", text, "base64")}`;
}
