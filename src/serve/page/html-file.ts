import { hash } from "node:crypto";
import { PortcullisError } from "../../errors.ts";
import type { ExecutionId } from "../../journal/execution-id.ts";
import type { Journal } from "../../journal/journal.ts";
import type { ConversationView, ExecutionView } from "../../views/view.ts";
import { viewExecution } from "../../views/view-execution.ts";
import { pageText } from "./page-files.ts";

/** What a file holds of the texts of one execution: there is no server to ask for the rest. */
const FILE_BOUNDS = { each: 64 * 1024, all: 8 * 1024 * 1024 };
/** Programs of a conversation that are in its file. */
const PROGRAMS = 200;

export interface HtmlFile {
  readonly html: string;
  /** Programs of the conversation that are not in it, by their ids: it holds those of the first 200. */
  readonly left: readonly ExecutionId[];
}

/**
 * The page about one execution as one HTML file, which needs nothing else: the programs of a conversation are in it. It holds
 * what the tools returned. Rejects with `execution_unknown`, `journal_invalid`, and as the journal does.
 */
export async function htmlFile(journal: Journal, execution: ExecutionId): Promise<HtmlFile> {
  const view = await viewExecution(journal, execution, FILE_BOUNDS);
  const ids = view.kind === "conversation" ? programsOf(view) : [];
  return { html: fileOf([view, ...(await viewsOf(journal, ids.slice(0, PROGRAMS)))]), left: ids.slice(PROGRAMS) };
}

function programsOf({ turns }: ConversationView): readonly ExecutionId[] {
  return turns.flatMap(({ programs }) => programs.flatMap(({ execution }) => execution ?? []));
}

async function viewsOf(journal: Journal, ids: readonly ExecutionId[]): Promise<readonly ExecutionView[]> {
  const views: ExecutionView[] = [];
  for (const id of ids) {
    const view = await viewIfKnown(journal, id);
    if (view) views.push(view);
  }
  return views;
}

/** Undefined for a program that was never begun. */
async function viewIfKnown(journal: Journal, execution: ExecutionId): Promise<ExecutionView | undefined> {
  try {
    return await viewExecution(journal, execution, FILE_BOUNDS);
  } catch (error) {
    if (PortcullisError.is(error) && error.code === "execution_unknown") return undefined;
    throw error;
  }
}

function fileOf(executions: readonly ExecutionView[]): string {
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
<script type="application/json" id="data">${jsonForHtml({ executions })}</script>
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
