import type { HostFrame } from "../../../bridge/frames.ts";
import type { JournalRecord, TurnRecord } from "../../journal/record.ts";
import { eachSliced, errorIn, type PastTurn, readTurnSliced } from "../../executions/from-journal/index.ts";
import { readPlainData, type SlicedWork } from "../../base/index.ts";
import { CallViews } from "./parts/call-views.ts";
import { EventViews } from "./parts/event-views.ts";
import { TokenCount } from "./parts/funnel-view.ts";
import type { TextAllowance } from "./parts/text-allowance.ts";
import type { LogView } from "./view.ts";

/** Reads the facts of a program that `PastFold` does not give: its calls and printed texts, one by one. */
export class ProgramReader {
  readonly calls: CallViews;
  readonly events = new EventViews();
  readonly logs: LogView[] = [];
  /** Length of the printed texts. */
  logLength = 0;
  readonly tokens = new TokenCount();
  readonly largest = { inputBytes: 0, resultBytes: 0 };
  lastAt = 0;
  #now = 0;

  constructor(room: TextAllowance) {
    this.calls = new CallViews(room);
  }

  /** Takes a record that was checked before. */
  *take(record: JournalRecord): SlicedWork<void> {
    if (record.type === "turn") return yield* this.#takeTurn(record);
    this.calls.note(record);
    this.events.note(record);
    if (record.type === "header") this.lastAt = record.startedAt;
    else if ("at" in record) this.lastAt = Math.max(this.lastAt, record.at);
    if (record.type === "answered" && record.items === undefined)
      this.largest.resultBytes = Math.max(this.largest.resultBytes, record.bytes);
  }

  *#takeTurn(record: TurnRecord): SlicedWork<void> {
    const { event, commands } = yield* readTurnSliced(record);
    this.#now = Math.max(this.#now, event.now);
    this.lastAt = Math.max(this.lastAt, event.now);
    if (event.kind === "answer") this.#takeAnswer(event);
    if (event.kind === "items") this.#takeItems(event);
    yield* eachSliced(commands, (command) => this.#takeCommand(command));
  }

  #takeItems({ id, count, bytes, body = "" }: HostFrame & { readonly kind: "items" }): void {
    this.tokens.add(body, bytes);
    this.calls.stream(String(id), count, bytes);
  }

  #takeAnswer({ id, ok, body, now }: HostFrame & { readonly kind: "answer" }): void {
    if (ok) this.tokens.add(body, Buffer.byteLength(body));
    const shown = ok ? body : (errorIn(body, "message") ?? body);
    this.calls.tell(String(id), { ok, body: shown, at: now, code: () => errorIn(body, "code") });
  }

  #takeCommand(command: PastTurn["commands"][number]): void {
    if (command.kind === "call") {
      const { id, tool, body: inputText } = command;
      this.calls.make({ id: String(id), tool, caller: "programmatic", inputText, at: this.#now });
      this.largest.inputBytes = Math.max(this.largest.inputBytes, Buffer.byteLength(inputText));
    } else if (command.kind === "cancel") this.calls.leave(String(command.id), this.#now);
    else if (command.kind === "output") {
      const read = readPlainData(command.body);
      const text = read.ok && typeof read.value === "string" ? read.value : "";
      const dropped = command.dropped === 0 ? {} : { dropped: command.dropped };
      this.logLength += text.length;
      this.logs.push({ stream: command.stream, text, ...dropped });
    }
  }
}
