import { PortcullisError } from "../../../base/index.ts";
import { readLines } from "../../../journal/reading/index.ts";
import { UsageFailure } from "../../failure.ts";
import { standardStreams, writeStderr } from "../../terminal/standard-streams.ts";
import { type AnswerLines, TerminalLines } from "../../terminal/terminal-lines.ts";

/** Longest message of a pipe, in bytes. */
const MESSAGE_BYTES = 4 * 1024 * 1024;
const PROMPT = "› ";

/** Where the messages of a conversation come from. */
export interface ChatInput extends Disposable {
  /** The lines of the person who types at a terminal. Undefined for a pipe. */
  readonly lines: AnswerLines | undefined;
  /** The next message that is not empty; undefined once there is none, or if the signal is aborted. */
  next(signal: AbortSignal): Promise<string | undefined>;
}

/** Messages from the lines of a terminal, or from a pipe. */
export function openChatInput(onInterrupt: () => boolean): ChatInput {
  const { stdin, stderr } = standardStreams();
  if (!stdin.isTTY) return pipedMessages(stdin);
  const lines = new TerminalLines(stdin, stderr, onInterrupt);
  return {
    lines,
    next: (signal) => nextTyped(lines, signal),
    [Symbol.dispose]: () => lines[Symbol.dispose](),
  };
}

async function nextTyped(lines: AnswerLines, signal: AbortSignal): Promise<string | undefined> {
  for (;;) {
    const answer = await lines.ask(PROMPT, signal);
    if (answer.type === "ended") writeStderr("\n");
    if (answer.type !== "line") return undefined;
    if (answer.text.trim() !== "") return answer.text;
  }
}

function pipedMessages(stdin: NodeJS.ReadStream): ChatInput {
  const read = readLines(stdin as AsyncIterable<Uint8Array>, MESSAGE_BYTES);
  const next = async (signal: AbortSignal): Promise<string | undefined> => {
    const { promise: aborted, resolve } = Promise.withResolvers<undefined>();
    const onAbort = () => resolve(undefined);
    signal.addEventListener("abort", onAbort);
    try {
      while (!signal.aborted) {
        const line = await Promise.race([read.next(), aborted]);
        if (!line || line.done) return undefined;
        if (line.value.trim() !== "") return line.value;
      }
      return undefined;
    } catch (error) {
      if (!PortcullisError.is(error)) throw error;
      throw new UsageFailure(
        `A message on standard input is longer than ${MESSAGE_BYTES} bytes, or is not UTF-8. Each line is a message.`,
        { cause: error },
      );
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  };
  return { lines: undefined, next, [Symbol.dispose]: () => void stdin.destroy() };
}
