import type { AgentEvent } from "../../../agent/event.ts";
import type { ApprovalRequest } from "../../../gate/approve/approval.ts";
import { ChatDisplay } from "../../terminal/chat/chat-display.ts";
import { showConversation } from "../../terminal/executions/conversation-lines.ts";
import type { Screen } from "../../terminal/screen.ts";
import { standardStreams } from "../../terminal/standard-streams.ts";

/** What shows a conversation: a terminal that is drawn upon, or lines. */
export interface ChatScreen extends Disposable {
  readonly columns: number;
  readonly hasColours: boolean;
  readonly onEvent: (event: AgentEvent) => void;
  /** Who makes a call that a person is asked about. */
  readonly callerOf: (request: ApprovalRequest) => string;
  /** The model of this conversation works, until `rest`. */
  begin(conversation: string): void;
  rest(): void;
  /** Runs what writes lines. */
  above(write: () => void): void;
  /** Leaves the terminal to a question, until disposed. */
  hold(): Disposable;
}

/** `canDraw`: a person is at a terminal that can move its cursor. Without colours, or if output goes elsewhere, there are lines. */
export function openChatScreen(screen: Screen, canDraw: boolean, programs: readonly string[]): ChatScreen {
  const { stdout, stderr } = standardStreams();
  const hasColours = canDraw && stdout.isTTY && stderr.isTTY && stderr.hasColors();
  return hasColours ? drawn(stderr, programs) : plain(screen, programs);
}

function drawn(stream: NodeJS.WriteStream, programs: readonly string[]): ChatScreen {
  const display = new ChatDisplay(stream, programs);
  return {
    get columns() {
      return stream.columns;
    },
    hasColours: true,
    onEvent: display.onEvent,
    callerOf: (request) => display.callerOf(request),
    begin: (conversation) => display.begin(conversation),
    rest: () => display.rest(),
    above: (write) => display.above(write),
    hold: () => display.hold(),
    [Symbol.dispose]: () => display[Symbol.dispose](),
  };
}

function plain(screen: Screen, programs: readonly string[]): ChatScreen {
  let show: ((event: AgentEvent) => void) | undefined;
  return {
    columns: standardStreams().stderr.columns || Number.POSITIVE_INFINITY,
    hasColours: false,
    onEvent: (event) => show?.(event),
    callerOf: ({ caller }) => (caller === "direct" ? "The model" : `Program ${programs.length}`),
    begin: (conversation) => {
      show ??= showConversation(screen, { conversation, isInset: standardStreams().stdout.isTTY });
    },
    rest: () => {},
    above: (write) => screen.show(write),
    hold: () => ({ [Symbol.dispose]: () => {} }),
    [Symbol.dispose]: () => {},
  };
}
