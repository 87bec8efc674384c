import type { HostFrame } from "../../bridge/frames.ts";
import type { JournalRecord, TurnRecord } from "../journal/record.ts";
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

/** Reads the facts of a program that `PastFold` does not give: turns, calls and printed texts, one by one. */
export class ProgramReader {
  readonly calls: CallViews;
  readonly events = new EventViews();
  readonly turns: TurnView[] = [];
  turnsLeft = 0;
  readonly logs: LogView[] = [];
  /** Length of the printed texts. */
  logLength = 0;
  readonly tokens = new TokenCount();
  readonly largest = { inputBytes: 0, resultBytes: 0 };
  lastAt = 0;
  /** Of each stream that was read since the program was told of anything else: the turn of its items. */
  readonly #streaming = new Map<number, number>();
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
    const turn = this.#enter(event);
    if (event.kind === "answer") this.#takeAnswer(event, turn);
    if (event.kind === "items") this.#takeItems(event);
    yield* eachSliced(commands, (command) => this.#takeCommand(command, turn));
  }

  /** The place of a turn among the listed ones. Batches of a stream join the turn of its first. */
  #enter(event: HostFrame): number {
    const known = event.kind === "items" ? this.#streaming.get(event.id) : undefined;
    if (known !== undefined) {
      const before = this.turns[known];
      if (before) this.turns[known] = joined(before, turnOf(event));
      return known;
    }
    const turn = this.turns.length + this.turnsLeft;
    if (this.turns.length < LISTED_TURNS) this.turns.push(turnOf(event));
    else this.turnsLeft += 1;
    if (event.kind === "items") this.#streaming.set(event.id, turn);
    else this.#streaming.clear();
    return turn;
  }

  #takeItems({ id, count, bytes, body = "" }: HostFrame & { readonly kind: "items" }): void {
    this.tokens.add(body, bytes);
    this.calls.stream(String(id), count, bytes);
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
    } else if (command.kind === "cancel") this.calls.leave(String(command.id), this.#now);
    else if (command.kind === "output") {
      const read = readPlainData(command.body);
      const text = read.ok && typeof read.value === "string" ? read.value : "";
      const dropped = command.dropped === 0 ? {} : { dropped: command.dropped };
      this.logLength += text.length;
      this.logs.push({ turn, stream: command.stream, text, ...dropped });
    }
  }
}

function turnOf(event: HostFrame): TurnView {
  const { kind, now: at } = event;
  if (kind === "answer") return { at, event: kind, call: String(event.id) };
  if (kind !== "items") return { at, event: kind };
  const { id, count: items, bytes } = event;
  return { at, event: kind, call: String(id), items, bytes, batches: 1, until: at };
}

function joined(before: TurnView, batch: TurnView): TurnView {
  const sum = (name: "items" | "bytes" | "batches") => (before[name] ?? 0) + (batch[name] ?? 0);
  return { ...before, items: sum("items"), bytes: sum("bytes"), batches: sum("batches"), until: batch.at };
}
