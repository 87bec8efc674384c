import type { HostFrame } from "../../bridge/frames.ts";
import type { JournalRecord, TurnRecord } from "../journal/record.ts";
import type { Records } from "../journal/reading/read-records.ts";
import { errorIn } from "../programs/from-journal/past-execution.ts";
import { eachSliced, type PastTurn, readTurnSliced } from "../programs/from-journal/read-turns.ts";
import type { SlicedWork } from "../values/slice-scheduler.ts";
import { readPlainData } from "../values/json/plain-data.ts";
import { CallViews } from "./parts/call-views.ts";
import { EventViews } from "./parts/event-views.ts";
import { TokenCount } from "./parts/funnel-view.ts";
import type { TextAllowance } from "./parts/text-allowance.ts";
import type { LogView, TurnView } from "./view.ts";

/** Turns that a view lists: a call takes one or two. */
const LISTED_TURNS = 100_000;

/** Reads the facts of a program that `readPast` does not give: turns, calls and printed texts, one by one. */
export class ProgramReader {
  readonly calls: CallViews;
  readonly events = new EventViews();
  readonly turns: TurnView[] = [];
  turnsLeft = 0;
  readonly logs: LogView[] = [];
  readonly tokens = new TokenCount();
  readonly largest = { inputBytes: 0, resultBytes: 0 };
  lastAt = 0;
  #now = 0;

  constructor(room: TextAllowance) {
    this.calls = new CallViews(room);
  }

  /** Passes the records on, and reads each of them. */
  async *reading(records: Records): AsyncGenerator<JournalRecord> {
    for await (const record of records) {
      // The consumer checks a record before this class reads it, and names it in an error.
      yield record;
      await records.lane.work(this.#take(record));
    }
  }

  *#take(record: JournalRecord): SlicedWork<void> {
    if (record.type === "turn") return yield* this.#takeTurn(record);
    this.calls.note(record);
    this.events.note(record);
    if (record.type === "header") this.lastAt = record.startedAt;
    else if ("at" in record) this.lastAt = Math.max(this.lastAt, record.at);
    if (record.type === "answered") this.largest.resultBytes = Math.max(this.largest.resultBytes, record.bytes);
  }

  *#takeTurn(record: TurnRecord): SlicedWork<void> {
    const { event, commands } = yield* readTurnSliced(record);
    const turn = this.turns.length + this.turnsLeft;
    this.#now = Math.max(this.#now, event.now);
    this.lastAt = Math.max(this.lastAt, event.now);
    if (this.turns.length < LISTED_TURNS) this.turns.push(turnOf(event));
    else this.turnsLeft += 1;
    if (event.kind === "answer") this.#takeAnswer(event, turn);
    yield* eachSliced(commands, (command) => this.#takeCommand(command, turn));
  }

  #takeAnswer({ id, ok, body, now }: HostFrame & { readonly kind: "answer" }, turn: number): void {
    if (ok) this.tokens.add(body, Buffer.byteLength(body));
    const shown = ok ? body : (errorIn(body, "message") ?? body);
    this.calls.tell(String(id), turn, { ok, body: shown, at: now, code: () => errorIn(body, "code") });
  }

  #takeCommand(command: PastTurn["commands"][number], turn: number): void {
    if (command.kind === "call") {
      const { id, tool, body: inputText } = command;
      this.calls.make({ id: String(id), tool, caller: "programmatic", inputText, made: turn, at: this.#now });
      this.largest.inputBytes = Math.max(this.largest.inputBytes, Buffer.byteLength(inputText));
    } else if (command.kind === "output") {
      const read = readPlainData(command.body);
      const text = read.ok && typeof read.value === "string" ? read.value : "";
      const dropped = command.dropped === 0 ? {} : { dropped: command.dropped };
      this.logs.push({ turn, stream: command.stream, text, ...dropped });
    }
  }
}

function turnOf(event: HostFrame): TurnView {
  return {
    at: event.now,
    event: event.kind,
    ...(event.kind === "answer" || event.kind === "items" ? { call: String(event.id) } : {}),
  };
}
