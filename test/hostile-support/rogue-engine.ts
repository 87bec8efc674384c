import { Socket } from "node:net";
import { encodeFrames, FrameDecoder } from "../../bridge/wire.ts";
import { READY } from "./frames.ts";

const PIPE = 3;

/** What an engine under an attacker's control can do to its host. */
export interface RogueEngine {
  /** Sends messages as an engine would. */
  readonly say: (messages: readonly string[]) => void;
  /** Sends bytes as they are. */
  readonly write: (bytes: Uint8Array) => void;
  readonly pipe: Socket;
}

/** Speaks for an engine that behaves until its guest is handed an event, and then does what it is told to. */
export function runRogueEngine(
  onEvent: (event: string, engine: RogueEngine) => void,
  greet: () => readonly string[] = () => [READY],
): void {
  const pipe = new Socket({ fd: PIPE });
  const decoder = new FrameDecoder(64 * 1024 * 1024);
  const engine: RogueEngine = {
    pipe,
    say: (messages) => pipe.write(encodeFrames(messages)),
    write: (bytes) => pipe.write(bytes),
  };
  pipe.on("data", (chunk: Buffer) => {
    for (const message of decoder.push(chunk)) {
      if (message.startsWith("prepare ")) engine.say(["prepared", ...greet()]);
      else onEvent(message, engine);
    }
  });
  pipe.on("end", () => process.exit());
  pipe.on("error", () => process.exit());
}
