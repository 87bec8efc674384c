import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { OpenCall, OVER } from "../../src/gate/open-call.ts";
import { idle, makeTool } from "./open-session.ts";

const request = { callId: "7", tool: "t", caller: "programmatic", inputText: "{}" } as const;
const openCall = () => new OpenCall(makeTool(), request);

test("what a task comes to is what the call comes to, value or error", async () => {
  const failure = new Error("no");
  expect(await openCall().orOver(async () => 1)).toBe(1);
  await expect(openCall().orOver(() => Promise.reject(failure))).rejects.toBe(failure);
});

test("a call that ends overtakes its task, which is not waited for", async () => {
  const call = openCall();
  const outcome = call.orOver(() => new Promise<never>(() => {}));
  call.end("It was late.");
  expect(await outcome).toBe(OVER);
});

test("what a task that was overtaken throws is lost, and no unhandled rejection", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  const call = openCall();
  const task = Promise.withResolvers<never>();
  const outcome = call.orOver(() => task.promise);
  call.end("It was late.");
  task.reject(new Error("too late"));
  expect(await outcome).toBe(OVER);
  await idle();
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

test("a task of a call that is over is not begun", async () => {
  const call = openCall();
  call.end("It was late.");
  let begun = 0;
  const task = async () => {
    begun += 1;
  };
  expect(await call.orOver(task)).toBe(OVER);
  expect(begun).toBe(0);
});

test("of two tasks, one after the other, the end overtakes the one under way", async () => {
  const call = openCall();
  expect(await call.orOver(async () => "first")).toBe("first");
  const second = call.orOver(() => new Promise<never>(() => {}));
  call.end("It was late.");
  expect(await second).toBe(OVER);
});

test("of a task within a task the end overtakes both", async () => {
  const call = openCall();
  const outer = call.orOver(() => call.orOver(() => new Promise<never>(() => {})));
  call.end("It was late.");
  expect(await outer).toBe(OVER);
});

test("of a handler that is late the task round it goes on, and its signal tells", async () => {
  const call = openCall();
  const outer = call.orOver(async () => [await call.orEnded(() => new Promise<never>(() => {})), "answered"]);
  call.endHandler("It was late.");
  expect(await outer).toEqual([OVER, "answered"]);
  expect(call.signal.reason).toEqual(new Error("It was late."));
  expect(call.isOver).toBe(false);
});

test("the end overtakes a handler and the task round it", async () => {
  const call = openCall();
  const outer = call.orOver(() => call.orEnded(() => new Promise<never>(() => {})));
  call.end("The execution has ended.");
  expect(await outer).toBe(OVER);
});

test("a call that is over keeps nothing of its input, but the digest that its handler may ask for", () => {
  const [waiting, started] = [openCall(), openCall()];
  started.started = true;
  const { idempotencyKey } = openCall().contextIn("e1");
  for (const call of [waiting, started]) {
    call.end("The execution has ended.");
    expect(call.inputText).toBe("");
  }
  expect(started.contextIn("e1").idempotencyKey).toBe(idempotencyKey);
});

test("the signal tells why the call is over, whether it was asked for before or after, and the first reason counts", () => {
  const [before, after] = [openCall(), openCall()];
  const { signal } = before;
  const heard: unknown[] = [];
  signal.addEventListener("abort", () => heard.push(signal.reason));
  expect(signal.aborted).toBe(false);
  for (const call of [before, after]) {
    call.end("It was late.");
    call.end("Something else.");
    expect(call.signal.aborted).toBe(true);
    expect(call.signal.reason).toEqual(new Error("It was late."));
    expect(call.signal).toBe(call.signal);
  }
  expect(before.signal).toBe(signal);
  expect(heard).toEqual([new Error("It was late.")]);
});

test("a handler is told whose call it is, a key that is the same for the same call, and the call's own signal", () => {
  const call = openCall();
  const context = call.contextIn("e1");
  expect(context).toMatchObject({
    execution: "e1",
    callId: "7",
    caller: "programmatic",
    idempotencyKey: `e1:7:${createHash("sha256").update("{}").digest("hex")}`,
  });
  expect(context.signal).toBe(call.signal);
});
