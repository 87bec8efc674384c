import { PortcullisError } from "../../../errors.ts";
import { readLines } from "../../../journal/reading/read-lines.ts";
import { EXIT } from "../../exit-code.ts";
import { Failure } from "../../failure.ts";
import { MessageEditor, type MessageEditorOptions } from "../../terminal/chat/message-editor.ts";
import { standardStreams, writeStderr } from "../../terminal/standard-streams.ts";
import { type AnswerLines, TerminalLines } from "../../terminal/terminal-lines.ts";

/** Longest message of a pipe, in bytes. */
const MESSAGE_BYTES = 4 * 1024 * 1024;
const PROMPT = "› ";
const MORE = "… ";

/** Where the messages of a conversation come from. */
export interface ChatInput extends Disposable {
  /** Whether a person types at a terminal: then lines like `/help` are commands. */
  readonly isPerson: boolean;
  /** Whether the terminal can be drawn upon. */
  readonly canDraw: boolean;
  /** Where questions are answered; undefined if no person is there. */
  readonly lines: AnswerLines | undefined;
  /** The next message that is not empty; undefined once there is none, or if the signal is aborted. */
  next(signal: AbortSignal): Promise<string | undefined>;
}

/** Messages from an editor on a terminal, from the lines of a terminal that cannot move its cursor, or from a pipe. */
export function openChatInput(options: Omit<MessageEditorOptions, "input" | "output">): ChatInput {
  const { stdin, stderr } = standardStreams();
  if (!stdin.isTTY) return pipeInput(stdin);
  if (!stderr.isTTY || process.env.TERM === "dumb") return lineInput(stdin);
  const editor = new MessageEditor({ ...options, input: stdin, output: stderr });
  return {
    isPerson: true,
    canDraw: true,
    lines: editor,
    next: (signal) => nextMessage(() => editor.message(PROMPT, MORE, signal)),
    [Symbol.dispose]: () => editor[Symbol.dispose](),
  };
}

function lineInput(stdin: NodeJS.ReadStream): ChatInput {
  const lines = new TerminalLines(stdin);
  return {
    isPerson: true,
    canDraw: false,
    lines,
    next: (signal) =>
      nextMessage(() => {
        writeStderr(PROMPT);
        return lines.next(signal);
      }),
    [Symbol.dispose]: () => lines.close(),
  };
}

async function nextMessage(read: () => ReturnType<AnswerLines["next"]>): Promise<string | undefined> {
  for (;;) {
    const answer = await read();
    if (answer.type !== "line") return undefined;
    if (answer.text.trim() !== "") return answer.text;
  }
}

function pipeInput(stdin: NodeJS.ReadStream): ChatInput {
  const lines = readLines(stdin as AsyncIterable<Uint8Array>, MESSAGE_BYTES);
  return {
    isPerson: false,
    canDraw: false,
    lines: undefined,
    next: async (signal) => {
      const aborted = Promise.withResolvers<undefined>();
      const onAbort = () => aborted.resolve(undefined);
      signal.addEventListener("abort", onAbort);
      try {
        for (;;) {
          if (signal.aborted) return undefined;
          const line = await Promise.race([lines.next(), aborted.promise]);
          if (line === undefined || line.done) return undefined;
          if (line.value.trim() !== "") return line.value;
        }
      } catch (error) {
        if (!PortcullisError.is(error)) throw error;
        throw new Failure(
          EXIT.usage,
          `A message on standard input is longer than ${MESSAGE_BYTES} bytes, or is not UTF-8. Each line is a message.`,
          { cause: error },
        );
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    },
    [Symbol.dispose]: () => void stdin.destroy(),
  };
}
