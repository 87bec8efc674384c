import type { Header } from "../../journal/record.ts";
import { writtenTools } from "./parts/tool-places.ts";

/** Characters of a text in which its title is looked for. */
const LOOKED_THROUGH = 8 * 1024;
const LONGEST = 120;
const TOOLS = 3;

/**
 * What an execution is called, in one line: the task of a conversation, or what its user said first (`first`), the tool of
 * a call. A program is called by the comment at its head; without one by the tools that it names, and without tools by
 * its first line.
 */
export function titleOf(header: Header, first = ""): string {
  switch (header.kind) {
    case "conversation":
      return shortened(firstLine(header.task)) || shortened(firstLine(first)) || `Conversation with ${header.model}`;
    case "call":
      return header.tool;
    case "program":
      return titleOfProgram(header.source, new Set(header.tools.map(({ name }) => name)));
  }
}

/** What a program is called that may call these tools. */
export function titleOfProgram(source: string, tools: ReadonlySet<string>): string {
  const beginning = source.slice(0, LOOKED_THROUGH);
  return shortened(headComment(beginning) || toolsText(source, tools) || firstLine(beginning)) || "An empty program";
}

function toolsText(source: string, tools: ReadonlySet<string>): string {
  const written = [...writtenTools(source, tools)];
  const more = written.length - TOOLS;
  return `${written.slice(0, TOOLS).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

const HEAD = /^(?:\s*(?:\/\*[^]*?\*\/|"""[^]*?"""|'''[^]*?'''|(?:\/\/|#).*))*/;

/** The first line of these comments that says something; empty if there is none. */
function headComment(source: string): string {
  const lines = HEAD.exec(source)?.[0].split("\n") ?? [];
  const texts = lines.map((line) => line.replace(/^[\s*/#'"]+/, "").replace(/(?:\*\/|"""|''')\s*$/, ""));
  // What begins otherwise is for an interpreter or a compiler.
  return texts.find((text) => /\p{L}/u.test(text) && !/^[!@]/.test(text)) ?? "";
}

function firstLine(text: string): string {
  const lines = text.slice(0, LOOKED_THROUGH).split("\n");
  return lines.map((line) => line.trim()).find((line) => line !== "") ?? "";
}

/** At most `LONGEST` characters, cut between words if there are any. */
function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  if (line.length <= LONGEST) return line;
  const cut = line.slice(0, LONGEST - 1);
  const space = cut.lastIndexOf(" ");
  return `${(space > LONGEST / 2 ? cut.slice(0, space) : cut).toWellFormed().replace(/[\uFFFD,;]$/u, "")}…`;
}
