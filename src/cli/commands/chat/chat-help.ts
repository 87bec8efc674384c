import { laidOut } from "../../terminal/chat/streamed-text.ts";

/** The commands that a line of a conversation may be. */
const CHAT_COMMANDS = {
  "/tools": { usage: "/tools", what: "lists the tools that the model has" },
  "/cost": { usage: "/cost", what: "what the conversation has taken so far, and what its tokens cost at most" },
  "/show": { usage: "/show [N]", what: "shows program N, or the last one, whole" },
  "/save": {
    usage: "/save FILE",
    what: "writes the conversation to a new file: Markdown, or a transcript for .json",
  },
  "/continue": { usage: "/continue", what: "goes on without a message, with calls that wait" },
  "/help": { usage: "/help", what: "lists the commands and keys" },
  "/exit": { usage: "/exit", what: "ends" },
} as const satisfies Readonly<Record<`/${string}`, { readonly usage: string; readonly what: string }>>;

export type ChatCommandName = keyof typeof CHAT_COMMANDS;

/** What keys do, beside those that edit a line. */
const CHAT_KEYS = [
  { usage: "Ctrl-C", what: "interrupts the model; a second one, before anything else is typed, ends" },
  { usage: "Ctrl-D", what: "ends, in an empty line" },
  { usage: "Up", what: "finds earlier lines" },
  { usage: "Tab", what: "completes a command" },
  { usage: "\\ Enter", what: "goes on in the next line" },
] as const;

/** Columns below which what a command does stands in lines of its own. */
const NARROW = 50;

/** Commands and keys with what they do, in lines of at most this many columns that begin with the margin. */
export function chatHelp(columns: number, margin = ""): string {
  const all = [...Object.values(CHAT_COMMANDS), ...CHAT_KEYS];
  const width = Math.max(...all.map(({ usage }) => usage.length)) + 2;
  return all
    .map(({ usage, what }) => {
      const text = laidOut(what, columns, margin + " ".repeat(columns < NARROW ? 2 : width));
      return margin + (columns < NARROW ? `${usage}\n${text}` : usage.padEnd(width) + text.trimStart());
    })
    .join("\n");
}
