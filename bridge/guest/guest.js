/*
 * The JavaScript guest: runs one program inside a sandbox, and speaks the protocol of `bridge/README.md` with the host. A
 * sandbox runs this file unchanged as a script, in a new realm. The script's completion value is its interface:
 *
 *   deliver(text)  begins a turn with one frame from the host. The turn ends when the microtask queue is empty.
 *   drain()        returns the frames sent since the last drain, joined by U+001E, which JSON text never contains.
 *   provide(text)  called once, before any event, with the text of globals.js: global objects that V8 does not have.
 *                  A second argument "utc" makes en-US and UTC the defaults, where the process has others.
 *
 * The guest is not a security boundary: the host repeats each of its checks. The guest keeps references to the functions
 * that it needs from before the program starts, and its state is in closures. So a program that changes built-in
 * prototypes still gets a correct ending. README.md beside this file describes what a program can use.
 */
"use strict";
(() => {
  const PROTOCOL_VERSION = 1;
  const SEPARATOR = "\u001e";
  const DEPTH = 100;
  const LINE_BYTES = 16_384;
  /** Characters of printed text in one frame: it fits into the smallest frame, however many of them are escaped. */
  const PIECE_LENGTH = 8_192;
  /** Bytes that a line counts besides its own if it needs a frame, because its stream is not the last one's. */
  const FRAME_BYTES = 64;
  const TIMERS_AT_ONCE = 10_000;
  /** Bytes of a frame that are reserved for its header. The host accepts shorter headers only. */
  const HEADER_BYTES = 16_384;
  /** Causes of an error that are told. */
  const CAUSES = 4;
  /** Most notes on a value. */
  const NOTES = 8;
  /** Key of the name of a call's tool on the prototype of its promise. */
  const TOOL = Symbol("tool");
  /** Stack frames that must be free before a command is sent; sending needs fewer. */
  const COMMAND_STACK = 100;
  const TOO_LARGE = "value_too_large";
  const AWAIT_MISSING = "await_missing";
  const STREAM_MISUSED = "stream_misused";
  const LONGEST_TIMER_MS = 2 ** 31 - 1;
  /** Lines that V8 puts before the body of a function made by `new AsyncFunction`. */
  const LINES_BEFORE_PROGRAM = 2;

  /** Name of the search among tools in frames. It is no tool's: programs have it as the global function `searchTools`. */
  const SEARCH_TOOLS = "search_tools";
  /** Names of the calls that keep a value and read it again: the global functions `save` and `load`. */
  const SAVE_ARTIFACT = "save_artifact";
  const LOAD_ARTIFACT = "load_artifact";
  /** Maximum length of the name of a kept value. The host checks the rest of it. */
  const NAME_LENGTH = 100;

  // ---- built-ins, as they are before the program starts ------------------------------------------------------

  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const { isRawJSON, parse, stringify } = JSON;
  const {
    defineProperty,
    freeze,
    create,
    getOwnPropertyDescriptor,
    getPrototypeOf,
    setPrototypeOf,
    keys,
    prototype: objectPrototype,
  } = Object;
  const {
    apply,
    construct,
    defineProperty: tryDefineProperty,
    get: getThrough,
    setPrototypeOf: trySetPrototype,
  } = Reflect;
  const { asyncIterator, iterator, toPrimitive, toStringTag } = Symbol;
  const { floor, min, max } = Math;
  const { isFinite: isFiniteNumber, parseFloat: parseNumber, parseInt: parseInteger } = Number;
  const { isArray } = Array;
  const realm = globalThis;
  const RealDate = Date;
  const RealPromise = Promise;
  const RealProxy = Proxy;
  const RealRegExp = RegExp;
  const RealError = Error;
  const RealMap = Map;
  const RealSet = Set;
  const RealWeakMap = WeakMap;
  const RealAggregateError = AggregateError;
  const RealRangeError = RangeError;
  const RealSyntaxError = SyntaxError;
  const RealTypeError = TypeError;
  const RealUint8Array = Uint8Array;
  const RealString = String;
  const RealBigInt = BigInt;
  const RealFunction = Function;
  const AsyncFunction = (async () => {}).constructor;
  const instanceOf = uncurry(Function.prototype[Symbol.hasInstance]);
  const indexOf = uncurry(String.prototype.indexOf);
  const slice = uncurry(String.prototype.slice);
  const charCodeAt = uncurry(String.prototype.charCodeAt);
  const split = uncurry(String.prototype.split);
  const padEnd = uncurry(String.prototype.padEnd);
  const execute = uncurry(RegExp.prototype.exec);
  const then = uncurry(Promise.prototype.then);
  const mapGet = uncurry(Map.prototype.get);
  const mapSet = uncurry(Map.prototype.set);
  const mapHas = uncurry(Map.prototype.has);
  const mapDelete = uncurry(Map.prototype.delete);
  const mapForEach = uncurry(Map.prototype.forEach);
  const mapSize = uncurry(getOwnPropertyDescriptor(Map.prototype, "size").get);
  const weakGet = uncurry(WeakMap.prototype.get);
  const weakSet = uncurry(WeakMap.prototype.set);
  const setForEach = uncurry(Set.prototype.forEach);
  const setAdd = uncurry(Set.prototype.add);
  const setHas = uncurry(Set.prototype.has);
  const setDelete = uncurry(Set.prototype.delete);
  const push = uncurry(Array.prototype.push);
  const inheritsFrom = uncurry(objectPrototype.isPrototypeOf);
  const iteratorPrototype = getPrototypeOf(getPrototypeOf([][iterator]()));
  const asyncIteratorPrototype = getPrototypeOf(getPrototypeOf(async function* () {}.prototype));
  const typedArray = getPrototypeOf(RealUint8Array.prototype);
  const typedArrayName = uncurry(getOwnPropertyDescriptor(typedArray, toStringTag).get);
  const typedArrayLength = uncurry(getOwnPropertyDescriptor(typedArray, "length").get);
  const toTime = uncurry(Date.prototype.getTime);
  const { prototype: numberPrototype } = Number;
  const numberValue = uncurry(numberPrototype.valueOf);

  const nothing = () => {};

  /** A fulfilled promise, to run a function as the next microtask. */
  const fulfilled = withoutClass(RealPromise.resolve());

  /** Keeps `then` from reading the promise's class from `constructor`, which the program may have changed. */
  function withoutClass(promise) {
    return defineProperty(promise, "constructor", { __proto__: null, value: undefined });
  }

  /** Defines an own field. An assignment would call a setter that the program may have put on a prototype. */
  function setField(object, key, value) {
    defineProperty(object, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  }

  /** An array without a prototype, on which the program cannot put setters or a `toJSON`. */
  function newList() {
    return setPrototypeOf([], null);
  }

  /** Makes a stack overflow happen here, and not between a change of the guest's state and the frame that reports it. */
  function needStack(frames) {
    return frames === 0 ? 0 : 1 + needStack(frames - 1);
  }

  // ---- frames to the host -----------------------------------------------------------------------------------

  let outbox = "";
  let settled = false;
  let limits = { __proto__: null, calls: 0, logBytes: 0, printedBytes: 0, frameBytes: 0 };

  function emit(header, body) {
    if (settled) return;
    flushOutput();
    append(header, body);
  }

  function append(header, body) {
    const text = body === undefined ? stringify(header) : `${stringify(header)}\n${body}`;
    outbox = outbox === "" ? text : `${outbox}${SEPARATOR}${text}`;
  }

  let inTurn = false;

  function endTurn() {
    if (inTurn) emit({ __proto__: null, kind: "turn_end", open: mapSize(openCalls) + mapSize(openTimers) });
    inTurn = false;
  }

  /** The frame of the ending, which leaves last: what its turn rejects is known once the turn is over. */
  let ending;

  function drain() {
    endTurn();
    if (ending !== undefined) {
      if (ending.header.ok) noteRejections(ending.header.notes);
      append(ending.header, ending.body);
      ending = undefined;
    }
    const frames = outbox;
    outbox = "";
    return frames;
  }

  // ---- frames from the host ---------------------------------------------------------------------------------

  function deliver(text) {
    endTurn();
    inTurn = true;
    const end = indexOf(text, "\n");
    const header = parse(end < 0 ? text : slice(text, 0, end));
    const body = end < 0 ? undefined : slice(text, end + 1);
    now = header.now;
    if (header.kind === "answer") answer(header, body);
    else if (header.kind === "items") takeItems(header.id, body);
    else if (header.kind === "fire") fire(header.id);
    else if (header.kind === "start") start(header, parse(body));
    else if (header.kind === "stop") stop();
  }

  function start(header, body) {
    startedAt = header.now;
    limits = header.limits;
    seedRandom(header.seed);
    streamingTools = body.streams;
    defineProperty(globalThis, "tools", { value: toolTree(body.tools), enumerable: true });
    define("searchTools", toolFunction(SEARCH_TOOLS, searchInputs));
    define(
      "save",
      toolFunction(SAVE_ARTIFACT, (inputs) => inputs),
    );
    define("load", toolFunction(LOAD_ARTIFACT, loadInputs));
    let program;
    try {
      program = new AsyncFunction(`${body.program}\n//# sourceURL=program.js`);
    } catch (error) {
      fail(error);
      return;
    }
    then(withoutClass(program()), succeed, fail);
  }

  function stop() {
    mapForEach(openCalls, (call, id) => {
      mapDelete(openCalls, id);
      call.resolve({
        __proto__: null,
        ok: false,
        value: { code: "execution_stopped", tool: call.tool, message: "The execution was stopped." },
      });
    });
    flushTail();
  }

  // ---- the ending -------------------------------------------------------------------------------------------

  function succeed(value) {
    if (settled) return;
    const notes = newList();
    let text;
    try {
      text = encode(value, "The program returned", notes, true);
      noteFailures(notes);
      noteUnread(notes);
    } catch (error) {
      fail(error);
      return;
    }
    settle({ __proto__: null, kind: "settled", ok: true, notes }, text);
  }

  function fail(error) {
    if (settled) return;
    settle({ __proto__: null, kind: "settled", ok: false, notes: newList() }, stringify(describeFault(error)));
  }

  function settle(header, body) {
    flushTail();
    settled = true;
    ending = { __proto__: null, header, body };
  }

  /** What was rejected in a turn that did not handle it: the stacks of errors, or the words of other values. */
  const rejections = newList();

  function reject(words) {
    if (rejections.length < NOTES) push(rejections, words);
  }

  function noteRejections(notes) {
    for (let index = 0; index < rejections.length && notes.length < NOTES; index += 1) {
      const words = rejections[index];
      const position = execute(/program\.js:(\d{1,9}):/, words);
      const line = position === null ? "" : ` at line ${max(1, parseInteger(position[1], 10) - LINES_BEFORE_PROGRAM)}`;
      const stack = indexOf(words, "\n    at ");
      let error = stack < 0 ? words : slice(words, 0, stack);
      if (error.length > 140) error = `${slice(error, 0, 70)} … ${slice(error, error.length - 70)}`;
      push(notes, `A promise was rejected${line}, and the program did not await it then: ${error}`);
    }
  }

  function messageOf(error) {
    return RealString(error.message) + (instanceOf(RealAggregateError, error) ? `: ${preview(error.errors)}` : "");
  }

  function causesOf(error) {
    let text = "";
    let { cause } = error;
    for (let depth = 0; depth < CAUSES && cause !== undefined; depth += 1) {
      const isError = instanceOf(RealError, cause);
      text += ` (caused by ${isError ? `${RealString(cause.name)}: ${messageOf(cause)}` : preview(cause)})`;
      cause = isError ? cause.cause : undefined;
    }
    return text;
  }

  function describeFault(error) {
    const fault = { __proto__: null, name: "Error", message: "" };
    try {
      if (!instanceOf(RealError, error)) {
        fault.message = `The program threw something that is not an Error: ${preview(error)}`;
        return fault;
      }
      fault.name = shorten(RealString(error.name), 128);
      fault.message = endsOf(messageOf(error), 8192);
      fault.message = endsOf(fault.message + causesOf(error), 8192);
      const { code, tool } = error;
      // Only the guest may use this code: it ends the execution as stopped, and not as failed.
      if (typeof code === "string" && (code !== TOO_LARGE || instanceOf(ValueError, error)))
        fault.code = shorten(code, 64);
      if (typeof tool === "string") fault.tool = shorten(tool, 256);
      if (misusedCall !== undefined && code !== AWAIT_MISSING) fault.unawaited = misusedCall;
      const position = execute(/program\.js:(\d{1,9}):(\d{1,9})/, RealString(error.stack));
      if (position !== null) {
        fault.line = max(1, parseInteger(position[1], 10) - LINES_BEFORE_PROGRAM);
        fault.column = max(1, parseInteger(position[2], 10));
      }
    } catch {
      fault.message = fault.message || "The program threw an error that cannot be read.";
    }
    return fault;
  }

  // ---- calls ------------------------------------------------------------------------------------------------

  const openCalls = new RealMap();
  /** Calls that failed. */
  const failures = newList();
  let lastId = 0;
  let callCount = 0;

  class ToolError extends Error {
    constructor(code, tool, message) {
      super(message);
      defineProperty(this, "name", { __proto__: null, value: "ToolError", configurable: true, writable: true });
      setField(this, "code", code);
      setField(this, "tool", tool);
    }
  }
  define("ToolError", ToolError);

  /** Sends a call. Resolves with the answer: `ok`, and the value or the fields of the error. */
  function call(tool, inputs) {
    const keeps = tool === SAVE_ARTIFACT;
    if (!keeps && inputs.length > 1)
      throw new ToolError("input_invalid", tool, `${tool} takes one object with named fields, not several arguments.`);
    if (callCount > limits.calls)
      throw new ToolError("budget_spent", tool, `This execution may make ${limits.calls} calls, and has.`);
    if (keeps) refuseSave(inputs);
    const text = inputText(tool, inputs[keeps ? 1 : 0]);
    const header = { __proto__: null, kind: "call", id: 0, tool };
    if (keeps) header.name = inputs[0];
    needStack(COMMAND_STACK);
    callCount += 1;
    lastId += 1;
    const id = lastId;
    header.id = id;
    const answered = new RealPromise((resolve) => {
      mapSet(openCalls, id, { __proto__: null, resolve, tool });
      emit(header, text);
    });
    // `await` reads this, and Promise.prototype is the program's to change.
    return defineProperty(answered, "constructor", { __proto__: null, value: RealPromise });
  }

  function refuseSave(inputs) {
    const refuse = (message) => {
      throw new ToolError("input_invalid", SAVE_ARTIFACT, message);
    };
    if (inputs.length !== 2 || typeof inputs[0] !== "string")
      refuse('save takes a name, which is a string, and a value: await save("rows", rows).');
    const length = inputs[0].length;
    if (length === 0 || length > NAME_LENGTH)
      refuse(`The name of a value has ${length} characters, and may have 1 to ${NAME_LENGTH}.`);
    if (inputs[1] === undefined) refuse("The value to save is undefined, which JSON has not. Did you forget await?");
  }

  function inputText(tool, input) {
    try {
      return (
        encode(
          input === undefined ? {} : input,
          `The ${tool === SAVE_ARTIFACT ? "value to save" : `input of ${tool}`} holds`,
          undefined,
          true,
        ) ?? "null"
      );
    } catch (error) {
      if (!instanceOf(ValueError, error)) throw error;
      throw new ToolError(error.code === TOO_LARGE ? "budget_spent" : "input_invalid", tool, error.message);
    }
  }

  function answer(header, body) {
    const open = mapGet(openCalls, header.id);
    if (open === undefined) return;
    mapDelete(openCalls, header.id);
    open.resolve({ __proto__: null, ok: header.ok, value: parse(body) });
  }

  /** Makes one call. The error is created after the await, so that its stack has the line of the program that awaits the call. */
  async function ask(own, name, inputs) {
    try {
      const reply = await call(name, inputs);
      if (reply.ok) return reply.value;
      const { code, tool, message, value } = reply.value;
      const failed = new ToolError(code, tool, message);
      if (value !== undefined) setField(failed, "value", value);
      throw failed;
    } catch (error) {
      own.failed = true;
      own.code = instanceOf(ToolError, error) ? error.code : "input_invalid";
      push(failures, own);
      if (own.result !== undefined) forgive(own.result);
      throw error;
    }
  }

  /** Keeps the rejection of a call from being reported as unhandled, because a program may await the call later. */
  function forgive(promise) {
    const prototype = getPrototypeOf(promise);
    try {
      then(promise, undefined, nothing);
    } catch {
      // The program has changed the class of its promises, and will get its own error for that.
    }
    // `then` has read `constructor`, as the program does where it awaits the call.
    trySetPrototype(promise, prototype);
  }

  /** Notes about calls that failed and that the program never awaited. */
  function noteFailures(notes) {
    for (let index = 0; index < failures.length && notes.length < NOTES; index += 1) {
      const { tool, code, prototypes, result } = failures[index];
      if (getPrototypeOf(result) === prototypes.fresh)
        push(notes, shorten(`A call of ${tool} failed (${code}), and the program did not await it.`, 256));
    }
  }

  // ---- streams ------------------------------------------------------------------------------------------------

  /** Names of the tools whose calls are streams; undefined if there are none. */
  let streamingTools;
  /** What the guest knows of a stream, by the object that the program has. */
  const streamStates = new RealWeakMap();
  /** The stream of each open call of a tool that streams. */
  const openStreams = new RealMap();
  /** Streams that the program has not begun to read. */
  const unreadStreams = new RealSet();
  /** Key of the name of a stream's tool on the prototype of its streams. */
  const STREAM = Symbol("stream");

  /**
   * Makes a call that is answered with a stream. The program reads it with `for await`. The batches that have arrived
   * are in `batches`; the guest asks for another one when the program begins to read the last of them.
   */
  function openStream(name, inputs, prototype) {
    const stream = {
      __proto__: null,
      tool: name,
      id: 0,
      isOpen: true,
      error: undefined,
      batches: newList(),
      items: newList(),
      at: 0,
      waiting: newList(),
    };
    try {
      const answered = call(name, inputs);
      stream.id = lastId;
      mapSet(openStreams, lastId, stream);
      then(answered, (reply) => endStream(stream, reply), nothing);
    } catch (error) {
      // Like the refusal of any other call, this is told to the program where it waits for the result.
      stream.isOpen = false;
      stream.error = error;
    }
    setAdd(unreadStreams, stream);
    const given = create(prototype);
    weakSet(streamStates, given, stream);
    return given;
  }

  function endStream(stream, reply) {
    mapDelete(openStreams, stream.id);
    stream.isOpen = false;
    if (!reply.ok) stream.error = reply.value;
    serveStream(stream);
  }

  function takeItems(id, body) {
    const stream = mapGet(openStreams, id);
    if (stream === undefined) return;
    push(stream.batches, parse(body));
    serveStream(stream);
  }

  /** Gives what has arrived to the program's reads that wait for it. */
  function serveStream(stream) {
    const { waiting } = stream;
    let served = 0;
    while (served < waiting.length) {
      const next = nextItem(stream);
      if (next === undefined) break;
      waiting[served](next);
      served += 1;
    }
    const left = newList();
    for (let index = served; index < waiting.length; index += 1) push(left, waiting[index]);
    stream.waiting = left;
  }

  /** What a read gives: an item, the end, or the error of the stream as `failed`; undefined if it has to wait. */
  function nextItem(stream) {
    if (stream.at === stream.items.length) {
      if (stream.batches.length === 0) return stream.isOpen ? undefined : endOfStream(stream);
      needStack(COMMAND_STACK);
      stream.items = stream.batches[0];
      stream.at = 0;
      const rest = newList();
      for (let index = 1; index < stream.batches.length; index += 1) push(rest, stream.batches[index]);
      stream.batches = rest;
      // An event may have closed the call already, and with it what is told to the stream a microtask later.
      if (mapHas(openCalls, stream.id)) emit({ __proto__: null, kind: "next", id: stream.id });
      if (stream.items.length === 0) return nextItem(stream);
    }
    const { items, at } = stream;
    const value = items[at];
    items[at] = undefined;
    stream.at = at + 1;
    return { __proto__: objectPrototype, value, done: false };
  }

  function endOfStream(stream) {
    const { error } = stream;
    stream.error = undefined;
    if (error === undefined) return { __proto__: objectPrototype, value: undefined, done: true };
    return { __proto__: null, failed: error };
  }

  /** The program reads no more of it. */
  function cancelStream(stream) {
    stream.batches = newList();
    stream.items = newList();
    stream.at = 0;
    stream.error = undefined;
    if (!stream.isOpen) return;
    needStack(COMMAND_STACK);
    stream.isOpen = false;
    mapDelete(openStreams, stream.id);
    if (mapDelete(openCalls, stream.id)) emit({ __proto__: null, kind: "cancel", id: stream.id });
    serveStream(stream);
  }

  function arrivalOf(stream) {
    const arrived = new RealPromise((resolve) => push(stream.waiting, resolve));
    return defineProperty(arrived, "constructor", { __proto__: null, value: RealPromise });
  }

  /** Gives the program what it reads. The error is created after the await, so that its stack has the line that reads. */
  async function give(stream, next) {
    const read = next ?? (await arrivalOf(stream));
    // What the program gets has a prototype, which is its to change.
    if (getPrototypeOf(read) !== null) return read;
    const { failed } = read;
    throw instanceOf(RealError, failed) ? failed : new ToolError(failed.code, failed.tool, failed.message);
  }

  function readStream(stream, tool) {
    if (!setDelete(unreadStreams, stream))
      throw codedError(
        STREAM_MISUSED,
        tool,
        `The stream of ${pathOf(tool)}(…) is read by another loop, or was: a stream is read once. Call the tool again, or keep the items that you need.`,
      );
    const iterator = {
      next() {
        return give(stream, stream.waiting.length > 0 ? undefined : nextItem(stream));
      },
      async return(value) {
        cancelStream(stream);
        return { value, done: true };
      },
    };
    defineProperty(iterator, asyncIterator, { __proto__: null, value: () => iterator });
    return iterator;
  }

  function streamPrototype(tool) {
    const refuse = (message) => {
      throw codedError(
        STREAM_MISUSED,
        tool,
        `${pathOf(tool)}(…) gives a stream of items${message}: read it with \`for await (const item of …)\`, or collect a small one with \`await Array.fromAsync(…)\`.`,
      );
    };
    // `await` and `Promise.all` look for `then`, and give the stream itself.
    const isKnown = (target, key) => typeof key === "symbol" || key === "then" || key in target;
    const proxy = new RealProxy(create(objectPrototype), {
      __proto__: null,
      get(target, key, stream) {
        if (key === iterator) refuse(", which come later and not at once");
        if (!isKnown(target, key)) refuse(`, which has no property ${stringify(shorten(key, 64))}`);
        return getThrough(target, key, stream);
      },
    });
    const prototype = create(proxy);
    const define = (key, value) =>
      defineProperty(prototype, key, { __proto__: null, value, writable: true, configurable: true });
    for (let index = 0; index < CONVERSIONS.length; index += 1)
      define(CONVERSIONS[index], () => refuse(", and was used as its result"));
    define("toJSON", function () {
      return encoding ? this : refuse(", and was used as its result");
    });
    define(STREAM, tool);
    define(toStringTag, "ToolStream");
    define(asyncIterator, function () {
      return readStream(weakGet(streamStates, this), tool);
    });
    return prototype;
  }

  /** Notes about streams that the program never read. */
  function noteUnread(notes) {
    setForEach(unreadStreams, ({ tool }) => {
      if (notes.length < NOTES)
        push(
          notes,
          shorten(`The program never read the stream of ${tool}. Read it with for await, or do not call it.`, 256),
        );
    });
  }

  // ---- promises of calls --------------------------------------------------------------------------------------

  /*
   * A program that forgets `await` uses a call's promise as if it were the call's result. So the promise reports what is
   * done with a result and never with a promise. It is an ordinary promise of V8 with another prototype:
   *
   *   promise → prototype for its tool → proxy, which is asked only for properties that no promise has → Promise.prototype
   *
   * There are two prototypes per tool. A new promise has `fresh`, where a missing property is an error. `await`, `then`
   * and `Promise.all` and its like read `constructor`, which is a getter of `fresh`: it gives the promise the prototype
   * `awaited`. From then on a missing property is only recorded, because programs keep fields of their own on promises
   * that they wait for (`if (!promise.done)`). Conversion to a string or a number is an error with either prototype.
   * The promise itself has no state besides its prototype. So V8 awaits it in as few steps as any other.
   */

  const METHODS_OF_PROMISES = ["then", "catch", "finally", toStringTag];
  const CONVERSIONS = [toPrimitive, "toString", "toLocaleString"];

  /** The tool of the call's promise that was misused last, for the hint on a later failure. */
  let misusedCall;

  function misuse(tool, message) {
    misusedCall = tool;
    return codedError(AWAIT_MISSING, tool, `${message} did you forget await?`);
  }

  function codedError(code, tool, message) {
    const error = new RealTypeError(message);
    setField(error, "code", code);
    setField(error, "tool", tool);
    return error;
  }

  function promisePrototypes(tool) {
    const awaited = promisePrototype(tool, { value: RealPromise, writable: true }, () => {
      misusedCall = tool;
    });
    const fresh = promisePrototype(
      tool,
      {
        get() {
          // A program may freeze its promises: that must not keep it from awaiting them.
          if (getPrototypeOf(this) === fresh) trySetPrototype(this, awaited);
          return RealPromise;
        },
        set(value) {
          setField(this, "constructor", value);
        },
      },
      (key) => {
        throw misuse(
          tool,
          `${pathOf(tool)}(…) returns a promise, which has no property ${stringify(shorten(key, 64))}:`,
        );
      },
    );
    return { __proto__: null, fresh, awaited };
  }

  function promisePrototype(tool, constructor, onMissing) {
    const isMissing = (target, key) => {
      if (key in target) return false;
      if (typeof key === "string") onMissing(key);
      // V8 throws its own error after this, unless the program only looked.
      else if (key === iterator || key === asyncIterator) misusedCall = tool;
      return true;
    };
    const proxy = new RealProxy(create(RealPromise.prototype), {
      __proto__: null,
      get: (target, key, promise) => (isMissing(target, key) ? undefined : getThrough(target, key, promise)),
      has: (target, key) => !isMissing(target, key),
    });
    const prototype = create(proxy);
    const convert = () => {
      throw misuse(tool, `The promise of ${pathOf(tool)}(…) was used as its result:`);
    };
    for (let index = 0; index < METHODS_OF_PROMISES.length; index += 1) {
      const key = METHODS_OF_PROMISES[index];
      // A descriptor inherits from Object.prototype, where the program may have put a getter.
      const method = getOwnPropertyDescriptor(RealPromise.prototype, key) ?? { __proto__: null, value: undefined };
      defineProperty(prototype, key, { __proto__: null, ...method });
    }
    for (let index = 0; index < CONVERSIONS.length; index += 1)
      defineProperty(prototype, CONVERSIONS[index], {
        __proto__: null,
        value: convert,
        writable: true,
        configurable: true,
      });
    defineProperty(prototype, "toJSON", {
      __proto__: null,
      // `encode` refuses the promise itself, because it knows the place.
      value() {
        return encoding ? this : convert();
      },
      writable: true,
      configurable: true,
    });
    defineProperty(prototype, TOOL, { __proto__: null, value: tool });
    return defineProperty(prototype, "constructor", { __proto__: null, ...constructor, configurable: true });
  }

  // ---- the tree of tools --------------------------------------------------------------------------------------

  function toolTree(names) {
    const root = create(null);
    const streaming = new RealSet();
    const streams = streamingTools ?? [];
    for (let index = 0; index < streams.length; index += 1) setAdd(streaming, streams[index]);
    for (let index = 0; index < names.length; index += 1) {
      const name = names[index];
      const path = split(name, ".");
      let branch = root;
      for (let depth = 0; depth < path.length - 1; depth += 1) branch = branch[path[depth]] ??= create(null);
      const tool = setHas(streaming, name) ? streamFunction(name) : toolFunction(name, (inputs) => inputs);
      branch[path[path.length - 1]] = tool;
      // `tools["crm.find"]` is the tool too, and is not listed twice.
      if (path.length > 1) defineProperty(root, name, { __proto__: null, value: tool });
    }
    return freezeTree(root);
  }

  /** The function that calls a tool. `inputsOf` turns its arguments into those of a tool: one object. */
  function toolFunction(name, inputsOf) {
    let prototypes;
    const tool = (...inputs) => {
      prototypes ??= promisePrototypes(name);
      const own = { __proto__: null, tool: name, prototypes, result: undefined, failed: false, code: "" };
      own.result = ask(own, name, inputsOf(inputs));
      trySetPrototype(own.result, prototypes.fresh);
      if (own.failed) forgive(own.result);
      return own.result;
    };
    defineProperty(tool, "name", { value: functionOf(name) ?? name });
    return freeze(tool);
  }

  /** The function that calls a tool whose result is a stream. */
  function streamFunction(name) {
    let prototype;
    const tool = (...inputs) => openStream(name, inputs, (prototype ??= streamPrototype(name)));
    defineProperty(tool, "name", { value: name });
    return freeze(tool);
  }

  /** A search takes its query and its limit, or one object with both. */
  function searchInputs(inputs) {
    const query = inputs[0];
    if (inputs.length > 2 || (inputs.length === 1 && typeof query === "object" && query !== null)) return inputs;
    const input = { query };
    if (inputs[1] !== undefined) setField(input, "limit", inputs[1]);
    return [input];
  }

  /** The name of a kept value alone. */
  function loadInputs(inputs) {
    return inputs.length === 1 && typeof inputs[0] === "string" ? [{ name: inputs[0] }] : inputs;
  }

  /** The global function that makes calls of this name, if one does. */
  function functionOf(name) {
    if (name === SEARCH_TOOLS) return "searchTools";
    if (name === SAVE_ARTIFACT) return "save";
    return name === LOAD_ARTIFACT ? "load" : undefined;
  }

  /** How a program writes a tool. */
  function pathOf(tool) {
    return functionOf(tool) ?? `tools.${tool}`;
  }

  function freezeTree(branch) {
    for (const key in branch) if (typeof branch[key] === "object") freezeTree(branch[key]);
    return freeze(branch);
  }

  // ---- values to JSON ---------------------------------------------------------------------------------------

  class ValueError extends TypeError {
    constructor(code, message, tool) {
      super(message);
      setField(this, "code", code);
      if (tool !== undefined) setField(this, "tool", tool);
    }
  }

  const DATA_ONLY = "JSON holds data only.";

  /** Whether `encode` is at work. */
  let encoding = false;

  /**
   * JSON text of a value, or undefined for undefined. What JSON would leave out or empty silently is converted (Map, Set,
   * Error, typed arrays, iterators if `readsIterators`) or refused with a sentence that begins with `what`. `notes`
   * receives a sentence about each other change. Without `notes` what they would be about is refused: to a tool, null may
   * stand for an absent field. If `marks` is set, a text in brackets stands for each part that is refused, or changed.
   */
  function encode(root, what, notes, readsIterators, marks) {
    const flat = marks ? undefined : flatText(root);
    if (flat !== undefined) return flat;
    let top = null;
    let size = 0;
    let mark = "";
    const refuse = (thing, advice, tool) => {
      mark = advice === DATA_ONLY ? `[${thing}]` : `[${thing}: ${advice}]`;
      throw new ValueError("value_not_json", `${what} ${thing}${path(top)}: ${advice}`, tool);
    };
    const refuseAt = (key, value, thing, advice) => {
      top = { __proto__: null, value, source: value, key, up: top };
      refuse(thing, advice);
    };
    const note = (thing, key, became) => {
      if (notes !== undefined && notes.length < NOTES)
        push(notes, shorten(`${thing}${path({ __proto__: null, key, up: top })} became ${became}`, 256));
    };
    const refuseSize = () => {
      throw new ValueError(
        TOO_LARGE,
        `${what} more than ${limits.frameBytes} characters of JSON. Pass on only what is needed: select, aggregate or count first.`,
      );
    };
    const replace = function (key, value) {
      while (top !== null && top.value !== this) top = top.up;
      size += 4 + key.length;
      const type = typeof value;
      if (type === "string") size += value.length;
      if (size > limits.frameBytes) refuseSize();
      if (key === "__proto__") refuse("a field called __proto__", "give it another name.");
      if (type === "object" && value !== null) {
        // The host reads its digits as a number, which may keep fewer. Where nothing is noted, it refuses them.
        if (notes !== undefined && isRawJSON(value)) {
          note("Raw JSON", key, "what JSON.parse makes of it.");
          return apply(replace, this, [key, exactJson(value.rawJSON)]);
        }
        // JSON would make null of one that is no finite number.
        if (getPrototypeOf(value) === numberPrototype) return apply(replace, this, [key, numberValue(value)]);
        // Each element takes two characters. V8 gives up on the longest arrays before it asks for their first.
        if (isArray(value) && value.length > limits.frameBytes / 2) refuseSize();
        const parent = top;
        top = { __proto__: null, value, source: value, key, up: parent };
        let depth = 0;
        for (let ancestor = parent; ancestor !== null; ancestor = ancestor.up) {
          if (ancestor.source === value) refuse("a value that contains itself", "build a copy without the cycle.");
          depth += 1;
        }
        if (depth >= DEPTH) refuse(`a value nested more than ${DEPTH} levels deep`, "flatten it.");
        const plain = toPlain(value, refuse, readsIterators ? refuseSize : undefined);
        top.value = marks && plain === value && !isArray(value) ? readable(value) : plain;
        return top.value;
      }
      if (type === "number") {
        if (isFiniteNumber(value)) return value;
        if (notes === undefined) refuseAt(key, value, RealString(value), "JSON has no such number.");
        note(RealString(value), key, "null, because JSON has no such number.");
        return value;
      }
      if (type === "bigint" && notes !== undefined) {
        note("A BigInt", key, "a string, because JSON has no such number.");
        return RealString(value);
      }
      if (type === "bigint") refuseAt(key, value, "a BigInt", "turn it into a Number or a String first.");
      if (type === "function" || type === "symbol") refuseAt(key, value, `a ${type}`, DATA_ONLY);
      if (type === "undefined" && notes === undefined && isArray(this)) refuseAt(key, value, "undefined", DATA_ONLY);
      // JSON.stringify has asked the date for its text already.
      if (value === null && this[key] !== null && instanceOf(RealDate, this[key])) {
        if (notes === undefined) refuseAt(key, value, "an invalid date", "JSON has no such date.");
        note("An invalid date", key, "null.");
      }
      return value;
    };
    const replaceMarked = function (key, value) {
      const place = top;
      try {
        if (typeof value === "bigint" || instanceOf(RealRegExp, value)) return RealString(value);
        if (typeof value === "number" && !isFiniteNumber(value)) return `[${value}]`;
        return apply(replace, this, [key, value]);
      } catch (error) {
        if (!instanceOf(ValueError, error) || error.code === TOO_LARGE) throw error;
        top = place;
        return mark;
      }
    };
    const outer = encoding;
    encoding = true;
    let text;
    try {
      text = stringify(root, marks ? replaceMarked : replace);
    } finally {
      encoding = outer;
    }
    const allowed = limits.frameBytes - HEADER_BYTES;
    if (text !== undefined && text.length * 3 > allowed && utf8Length(text) > allowed)
      throw new ValueError(
        TOO_LARGE,
        `${what} ${utf8Length(text)} bytes of JSON, at most ${allowed} can be passed on. Select, aggregate or count first.`,
      );
    return text;
  }

  /** The fields of an object, with a mark for each that throws when it is read. */
  function readable(object) {
    const copy = create(null);
    const names = keys(object);
    for (let index = 0; index < names.length; index += 1)
      try {
        copy[names[index]] = object[names[index]];
      } catch {
        copy[names[index]] = "[a getter that throws]";
      }
    return copy;
  }

  /** Bytes of a text that holds no half characters. */
  function utf8Length(text) {
    let bytes = text.length;
    for (let index = 0; index < text.length; index += 1) {
      const unit = charCodeAt(text, index);
      if (unit >= 0x80) bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
    }
    return bytes;
  }

  /** JSON text of a small record of plain values, which nearly every input of a call is; undefined for any other value. Each field is read once, so that what is looked at is what is sent. */
  function flatText(value) {
    if (
      typeof value !== "object" ||
      value === null ||
      getPrototypeOf(value) !== objectPrototype ||
      value.toJSON !== undefined
    )
      return undefined;
    const names = keys(value);
    if (names.length > 16) return undefined;
    let text = "";
    for (let index = 0; index < names.length; index += 1) {
      const name = names[index];
      const field = value[name];
      const type = typeof field;
      if (
        name === "__proto__" ||
        (type !== "boolean" &&
          !(type === "string" && field.length < 4096) &&
          !(type === "number" && isFiniteNumber(field)))
      )
        return undefined;
      text += `${index === 0 ? "" : ","}${stringify(name)}:${stringify(field)}`;
    }
    return `{${text}}`;
  }

  /**
   * The JSON form of an object: the object itself, or what replaces it. Calls `refuse` for an object that has no JSON
   * form. An iterator is read to its end if `refuseSize` is given, which is called when it yields too much.
   */
  function toPlain(value, refuse, refuseSize) {
    if (isArray(value)) return value;
    if (instanceOf(RealPromise, value)) {
      const tool = value[TOOL];
      if (tool === undefined) refuse("a Promise", "did you forget await?");
      refuse(`the promise of ${pathOf(tool)}(…)`, "did you forget await?", tool);
    }
    if (instanceOf(RealMap, value)) return plainMap(value);
    if (instanceOf(RealSet, value)) {
      const items = newList();
      setForEach(value, (item) => push(items, item));
      return items;
    }
    if (instanceOf(RealError, value))
      return { __proto__: null, name: RealString(value.name), message: RealString(value.message) };
    if (typedArrayName(value) !== undefined) {
      const items = newList();
      const length = typedArrayLength(value);
      for (let index = 0; index < length; index += 1) push(items, value[index]);
      return items;
    }
    if (instanceOf(RealRegExp, value)) refuse("a RegExp", "use its source, which is a string.");
    const tag = value[toStringTag];
    if (typeof tag !== "string") {
      const prototype = getPrototypeOf(value);
      // What a class keeps in private fields, or gives by getters, is in no JSON.
      if (prototype !== objectPrototype && prototype !== null && keys(value).length === 0)
        refuse(`an object of the class ${className(prototype)}`, DATA_ONLY);
      return value;
    }
    const tool = value[STREAM];
    if (tool !== undefined)
      refuse(`the stream of ${pathOf(tool)}(…)`, "read it with `for await`, and pass on what you need of it.", tool);
    if (inheritsFrom(asyncIteratorPrototype, value))
      refuse("an async iterator", "collect its values with `for await` first.");
    if (inheritsFrom(iteratorPrototype, value)) {
      if (refuseSize === undefined) refuse("an iterator", "turn it into an array first.");
      return readIterator(value, refuseSize);
    }
    if (tag === "URL" || tag === "URLSearchParams") return RealString(value);
    // Of a WeakMap, an ArrayBuffer or an Intl.NumberFormat, JSON would keep nothing without saying so.
    if (keys(value).length === 0) refuse(`an object of the class ${shorten(tag, 64)}`, DATA_ONLY);
    return value;
  }

  function className({ constructor }) {
    const name = constructor?.name;
    return typeof name === "string" && name !== "" ? shorten(name, 64) : "without a name";
  }

  /** An array of what an iterator yields. */
  function readIterator(iterator, refuseSize) {
    const items = newList();
    const { next } = iterator;
    for (;;) {
      const { done, value } = apply(next, iterator, []);
      if (done) return items;
      if (items.length >= limits.frameBytes / 2) refuseSize();
      push(items, value);
    }
  }

  /** An object, or pairs where the keys are no strings or numbers, or where two would be one field, like 1 and "1". */
  function plainMap(map) {
    const object = create(null);
    let named = true;
    mapForEach(map, (item, key) => {
      named &&= (typeof key === "string" || typeof key === "number") && !(key in object);
      if (named) object[key] = item;
    });
    if (named) return object;
    const pairs = newList();
    mapForEach(map, (item, key) => push(pairs, [key, item]));
    return pairs;
  }

  function path(top) {
    let text = "";
    for (let place = top; place !== null && place.up !== null; place = place.up) {
      text =
        execute(/^[A-Za-z_$][\w$]*$/, place.key) !== null
          ? `.${place.key}${text}`
          : `[${execute(/^\d+$/, place.key) !== null ? place.key : stringify(place.key)}]${text}`;
    }
    return text === "" ? "" : ` at ${shorten(text, 160)}`;
  }

  /** The ends of a message: the last words of a long one often say what is wrong. */
  function endsOf(text, length) {
    if (text.length <= length) return text;
    const half = length / 2 - 32;
    return `${slice(text, 0, half)}… ${text.length - 2 * half} characters left out …${slice(text, text.length - half)}`;
  }

  function shorten(text, length) {
    return text.length <= length ? text : `${slice(text, 0, length - 1)}…`;
  }

  // ---- printed text -----------------------------------------------------------------------------------------

  let pending = "";
  let pendingStream = "stdout";
  let pendingDropped = 0;
  let headBytes = 0;
  let tailFirst = null;
  let tailLast = null;
  let tailBytes = 0;
  let dropped = 0;

  /** Bytes of UTF-8 of the prefix that `fittingLength` found. */
  let fittingBytes = 0;

  /** Length of the longest prefix of a text with at most `allowed` bytes of UTF-8. A lone surrogate counts as three bytes, as on the host. */
  function fittingLength(text, allowed) {
    fittingBytes = 0;
    let length = 0;
    while (length < text.length) {
      const unit = charCodeAt(text, length);
      let bytes = unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
      if (unit >= 0xd800 && unit < 0xdc00 && length + 1 < text.length) {
        const next = charCodeAt(text, length + 1);
        if (next >= 0xdc00 && next < 0xe000) bytes = 4;
      }
      if (fittingBytes + bytes > allowed) break;
      fittingBytes += bytes;
      length += bytes === 4 ? 2 : 1;
    }
    return length;
  }

  /** Prints a text, which may be several lines. */
  function print(stream, text) {
    let from = 0;
    for (let end = indexOf(text, "\n"); end >= 0; end = indexOf(text, "\n", from)) {
      printLine(stream, slice(text, from, end));
      from = end + 1;
    }
    printLine(stream, slice(text, from));
  }

  /** Sends lines whole and at once until `printedBytes` are spent. After that it keeps the latest lines, shortened, which are sent at the end. */
  function printLine(stream, text) {
    if (settled) return;
    const isHead = tailFirst === null && dropped === 0;
    const besides = 1 + (stream === pendingStream ? 0 : FRAME_BYTES);
    const room = isHead ? limits.printedBytes - headBytes - besides : -1;
    if (room >= 0 && fittingLength(text, room) === text.length) {
      headBytes += fittingBytes + besides;
      send(stream, `${text}\n`, 0);
      return;
    }
    const length = fittingLength(text, min(LINE_BYTES, max(0, limits.logBytes - 64)));
    const leftOut = length === text.length ? "" : `… [${text.length - length} more characters of this line left out]`;
    const line = `${leftOut === "" ? text : slice(text, 0, length)}${leftOut}\n`;
    const bytes = fittingBytes + utf8Length(leftOut) + 1;
    const entry = { __proto__: null, stream, line, bytes, next: null };
    if (tailLast === null) tailFirst = entry;
    else tailLast.next = entry;
    tailLast = entry;
    tailBytes += bytes;
    while (tailBytes > limits.logBytes && tailFirst !== null) {
      tailBytes -= tailFirst.bytes;
      tailFirst = tailFirst.next;
      dropped += 1;
    }
    if (tailFirst === null) tailLast = null;
  }

  function send(stream, text, droppedBefore) {
    if (pending !== "" && (stream !== pendingStream || droppedBefore > 0)) flushOutput();
    pendingStream = stream;
    pendingDropped += droppedBefore;
    pending += text;
    while (pending.length > PIECE_LENGTH) {
      const isPair = charCodeAt(pending, PIECE_LENGTH - 1) >>> 10 === 0xd800 >>> 10;
      const rest = slice(pending, isPair ? PIECE_LENGTH - 1 : PIECE_LENGTH);
      pending = slice(pending, 0, pending.length - rest.length);
      flushOutput();
      pending = rest;
    }
  }

  function flushTail() {
    let droppedBefore = dropped;
    for (let entry = tailFirst; entry !== null; entry = entry.next) {
      send(entry.stream, entry.line, droppedBefore);
      droppedBefore = 0;
    }
    if (droppedBefore > 0) send("stdout", "", droppedBefore);
    tailFirst = null;
    tailLast = null;
    tailBytes = 0;
    flushOutput();
  }

  function flushOutput() {
    if (pending === "" && pendingDropped === 0) return;
    append({ __proto__: null, kind: "output", stream: pendingStream, dropped: pendingDropped }, stringify(pending));
    pending = "";
    pendingDropped = 0;
  }

  /** Indentation of the open groups of `console.group`. */
  let indentation = "";

  function printValues(stream, values) {
    printText(stream, formatValues(values));
  }

  function printText(stream, text) {
    print(stream, indentation === "" ? text : indent(text));
  }

  function indent(text) {
    let indented = indentation;
    let from = 0;
    for (let end = indexOf(text, "\n"); end >= 0; end = indexOf(text, "\n", from)) {
      indented += slice(text, from, end + 1) + indentation;
      from = end + 1;
    }
    return indented + slice(text, from);
  }

  /** Values with spaces between them. A first text with specifiers (`%s`, `%d`, `%i`, `%f`, `%j`, `%o`, `%O`, `%c`) takes the values after it. */
  function formatValues(values) {
    let text = "";
    let used = 0;
    if (values.length > 1 && typeof values[0] === "string") {
      const pattern = values[0];
      let from = 0;
      used = 1;
      for (let at = indexOf(pattern, "%"); at >= 0 && at + 1 < pattern.length; at = indexOf(pattern, "%", from)) {
        const specifier = pattern[at + 1];
        let end = at + 2;
        text += slice(pattern, from, at);
        if (specifier === "%") text += "%";
        else if (used < values.length && indexOf("sdifjoOc", specifier) >= 0) {
          text += formatValue(specifier, values[used]);
          used += 1;
        } else {
          text += "%";
          end = at + 1;
        }
        from = end;
      }
      text += slice(pattern, from);
    }
    for (let index = used; index < values.length; index += 1)
      text += (index === 0 ? "" : " ") + formatValue("s", values[index]);
    return text;
  }

  function formatValue(specifier, value) {
    const type = typeof value;
    if (specifier === "c") return "";
    if (specifier === "s") return type === "string" ? value : preview(value);
    if (specifier === "d" || specifier === "i" || specifier === "f") {
      if (type === "bigint" && specifier !== "f") return preview(value);
      if (type === "symbol" || type === "object" || type === "function") return "NaN";
      if (specifier === "d") return RealString(+value);
      return RealString(specifier === "i" ? parseInteger(value, 10) : parseNumber(value));
    }
    return type === "string" ? stringify(value) : preview(value);
  }

  /** JSON of what a value has of it, and marks for the rest. */
  function encodeShown(value) {
    try {
      return encode(value, "It holds", undefined, false, false);
    } catch (error) {
      if (instanceOf(ValueError, error) && error.code === TOO_LARGE) throw error;
      return encode(value, "It holds", undefined, false, true);
    }
  }

  function preview(value) {
    try {
      if (instanceOf(RealError, value)) return `${RealString(value.name)}: ${messageOf(value)}${causesOf(value)}`;
      if (typeof value === "bigint") return `${RealString(value)}n`;
      if (typeof value === "function") return `[function ${value.name}]`;
      if (instanceOf(RealRegExp, value)) return RealString(value);
      if (typeof value === "object" && value !== null) return encodeShown(value) ?? "undefined";
      return RealString(value);
    } catch (error) {
      return instanceOf(ValueError, error) ? `[not printable: ${error.message}]` : "[not printable]";
    }
  }

  /** Widest cell that others of its column are padded to, in UTF-16 code units. */
  const CELL_WIDTH = 40;

  /** Prints rows as lines, with a column for each field. Anything but an object is printed as by `log`. */
  function printTable(data, columns) {
    if (typeof data !== "object" || data === null) return printValues("stdout", [data]);
    const lines = newList();
    const header = newList();
    const widths = newList();
    const columnOf = new RealMap();
    const addColumn = (name) => {
      mapSet(columnOf, name, header.length);
      push(header, name);
      push(widths, name.length);
    };
    const setCell = (line, column, text) => {
      // Cells of fields that this row does not have are empty.
      while (line.length < column) push(line, "");
      line[column] = indexOf(text, "\n") < 0 ? text : stringify(text);
      widths[column] = max(widths[column], min(CELL_WIDTH, line[column].length));
    };
    const showCell = (value) => formatValue("s", value);
    addColumn("(index)");
    if (isArray(columns)) for (let index = 0; index < columns.length; index += 1) addColumn(RealString(columns[index]));
    const rowNames = keys(data);
    let hasValues = false;
    for (let index = 0; index < rowNames.length; index += 1) {
      const row = data[rowNames[index]];
      const line = newList();
      setCell(line, 0, rowNames[index]);
      push(lines, line);
      if (typeof row !== "object" || row === null) {
        hasValues = true;
        line.value = showCell(row);
        continue;
      }
      const names = keys(row);
      for (let field = 0; field < names.length; field += 1) {
        const name = names[field];
        if (mapGet(columnOf, name) === undefined && !isArray(columns)) addColumn(name);
        const column = mapGet(columnOf, name);
        if (column !== undefined) setCell(line, column, showCell(row[name]));
      }
    }
    if (hasValues) {
      addColumn("Values");
      for (let index = 0; index < lines.length; index += 1)
        if (lines[index].value !== undefined) setCell(lines[index], header.length - 1, lines[index].value);
    }
    printText("stdout", tableLine(header, widths));
    for (let index = 0; index < lines.length; index += 1) printText("stdout", tableLine(lines[index], widths));
  }

  function tableLine(cells, widths) {
    let text = "";
    for (let column = 0; column < cells.length; column += 1)
      text += column === cells.length - 1 ? cells[column] : `${padEnd(cells[column], widths[column])}  `;
    return text;
  }

  const startTimes = new RealMap();
  const counts = new RealMap();
  const toStdout = (...values) => printValues("stdout", values);
  const toStderr = (...values) => printValues("stderr", values);
  const openGroup = (...values) => {
    if (values.length > 0) printValues("stdout", values);
    indentation += "  ";
  };
  const printTime = (label, values) => {
    const startTime = mapGet(startTimes, label);
    if (startTime === undefined) printText("stderr", `console.time("${label}") was not called.`);
    else printText("stdout", formatValues([`${label}: ${now - startTime} ms`, ...values]));
  };
  define("console", {
    log: toStdout,
    info: toStdout,
    debug: toStdout,
    dir: (value) => printValues("stdout", [value]),
    dirxml: toStdout,
    table: printTable,
    warn: toStderr,
    error: toStderr,
    trace: (...values) => printText("stderr", values.length === 0 ? "Trace" : `Trace: ${formatValues(values)}`),
    assert: (holds, ...values) => {
      if (!holds)
        printText("stderr", values.length === 0 ? "Assertion failed" : `Assertion failed: ${formatValues(values)}`);
    },
    group: openGroup,
    groupCollapsed: openGroup,
    groupEnd: () => {
      indentation = slice(indentation, 2);
    },
    count: (label = "default") => {
      const name = RealString(label);
      const count = (mapGet(counts, name) ?? 0) + 1;
      mapSet(counts, name, count);
      printText("stdout", `${name}: ${count}`);
    },
    countReset: (label = "default") => {
      mapDelete(counts, RealString(label));
    },
    time: (label = "default") => {
      mapSet(startTimes, RealString(label), now);
    },
    timeLog: (label = "default", ...values) => printTime(RealString(label), values),
    timeEnd: (label = "default") => {
      printTime(RealString(label), []);
      mapDelete(startTimes, RealString(label));
    },
  });

  // ---- timers -----------------------------------------------------------------------------------------------

  const openTimers = new RealMap();
  const handles = new RealMap();

  function addTimer(callback, wait, values, repeats) {
    if (typeof callback !== "function") throw new RealTypeError("A timer takes a function.");
    // The conversion may run code of the program, so it comes before the count.
    const ms = floor(+wait);
    if (mapSize(openTimers) >= TIMERS_AT_ONCE)
      throw new RealRangeError(`At most ${TIMERS_AT_ONCE} timers may be open at once.`);
    needStack(COMMAND_STACK);
    const timer = {
      __proto__: null,
      callback,
      values,
      repeats,
      ms: ms >= 1 ? min(ms, LONGEST_TIMER_MS) : 1,
      handle: lastId + 1,
    };
    arm(timer);
    return timer.handle;
  }

  function arm(timer) {
    lastId += 1;
    mapSet(openTimers, lastId, timer);
    mapSet(handles, timer.handle, lastId);
    emit({ __proto__: null, kind: "timer", id: lastId, ms: timer.ms });
  }

  function removeTimer(handle) {
    const id = mapGet(handles, handle);
    if (id === undefined) return;
    needStack(COMMAND_STACK);
    mapDelete(handles, handle);
    if (mapDelete(openTimers, id)) emit({ __proto__: null, kind: "clear", id });
  }

  function fire(id) {
    const timer = mapGet(openTimers, id);
    if (timer === undefined) return;
    mapDelete(openTimers, id);
    if (timer.repeats) arm(timer);
    else mapDelete(handles, timer.handle);
    runLoose(timer.callback, timer.values);
  }

  /** Runs a callback that nothing awaits. An error that it throws ends the program, as it ends a process of node. */
  function runLoose(callback, values) {
    try {
      apply(callback, undefined, values);
    } catch (error) {
      fail(error);
    }
  }

  define("setTimeout", (callback, wait, ...values) => addTimer(callback, wait, values, false));
  define("setInterval", (callback, wait, ...values) => addTimer(callback, wait, values, true));
  define("clearTimeout", removeTimer);
  define("clearInterval", removeTimer);
  define("queueMicrotask", (callback) => {
    if (typeof callback !== "function") throw new RealTypeError("queueMicrotask takes a function.");
    then(fulfilled, () => runLoose(callback, []));
  });

  // ---- clock and random numbers, which replay -------------------------------------------------------------------

  let now = 0;
  let startedAt = 0;
  let random0 = 0;
  let random1 = 0;
  let random2 = 0;
  let random3 = 0;

  function seedRandom(seed) {
    random0 = parseInteger(slice(seed, 0, 8), 16) | 0;
    random1 = parseInteger(slice(seed, 8, 16), 16) | 0;
    random2 = parseInteger(slice(seed, 16, 24), 16) | 0;
    random3 = parseInteger(slice(seed, 24, 32), 16) | 0;
    for (let round = 0; round < 12; round += 1) random32();
  }

  /** 32 random bits from sfc32, a small generator that passes the tests of PractRand. */
  function random32() {
    const sum = (((random0 + random1) | 0) + random3) | 0;
    random3 = (random3 + 1) | 0;
    random0 = random1 ^ (random1 >>> 9);
    random1 = (random2 + (random2 << 3)) | 0;
    random2 = (random2 << 21) | (random2 >>> 11);
    random2 = (random2 + sum) | 0;
    return sum >>> 0;
  }

  /** A JSON text, in which a whole number is written as the host gives it in results: as the text of its digits, if no double holds it. */
  function exactText(text) {
    if (execute(/\d{16}/, text) === null) return text;
    let written = "";
    let kept = 0;
    for (let at = 0; at < text.length;) {
      const start = at;
      if (charCodeAt(text, at) === 0x22) {
        at = endOfString(text, at);
        continue;
      }
      while (isNumberUnit(charCodeAt(text, at))) at += 1;
      if (at - start > 15) {
        const digits = slice(text, start, at);
        if (isInexact(digits) && !isName(text, at)) {
          written += `${slice(text, kept, start)}"${digits}"`;
          kept = at;
        }
      }
      if (at === start) at += 1;
    }
    return written + slice(text, kept);
  }

  function endOfString(text, start) {
    for (let end = indexOf(text, '"', start + 1); end >= 0; end = indexOf(text, '"', end + 1)) {
      let backslashes = 0;
      while (charCodeAt(text, end - 1 - backslashes) === 0x5c) backslashes += 1;
      if (backslashes % 2 === 0) return end + 1;
    }
    return text.length;
  }

  /** Digits, and "+", "-", ".", "E" and "e". NaN, past the end of a text, is none. */
  function isNumberUnit(unit) {
    if (unit < 0x3a) return unit >= 0x30 || unit === 0x2b || unit === 0x2d || unit === 0x2e;
    return unit === 0x45 || unit === 0x65;
  }

  /** Whether a number is whole and no double holds it. A pattern that repeats overflows its stack on megabytes. */
  function isInexact(number) {
    const digits = charCodeAt(number, 0) === 0x2d ? slice(number, 1) : number;
    if (charCodeAt(digits, 0) === 0x30 || execute(/\D/, digits) !== null || digits.length < 16) return false;
    const double = +number;
    return RealString(double) !== number || RealBigInt(double) !== RealBigInt(number);
  }

  /** Whether a colon follows, so that what stands here would become the name of a field. */
  function isName(text, end) {
    let at = end;
    while (execute(/^\s$/, slice(text, at, at + 1)) !== null) at += 1;
    return charCodeAt(text, at) === 0x3a;
  }

  const { parse: exactJson } = {
    parse(text, reviver) {
      if (typeof text === "object" && text !== null && !instanceOf(RealString, text))
        throw new RealSyntaxError(
          "JSON.parse takes a text, and was given a value that is no text. Results of tools are values already: use them as they are.",
        );
      return parse(exactText(RealString(text)), reviver);
    },
  };
  defineProperty(JSON, "parse", { value: exactJson, configurable: true, writable: true });

  defineProperty(Math, "random", {
    value: () => ((random32() >>> 5) * 67_108_864 + (random32() >>> 6)) / 9_007_199_254_740_992,
    configurable: true,
    writable: true,
  });

  define("crypto", {
    getRandomValues: (array) => {
      const bytes = new RealUint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let index = 0; index < bytes.length; index += 1) bytes[index] = random32() & 255;
      return array;
    },
    randomUUID: () => {
      const digit = (bits) => "0123456789abcdef"[bits & 15];
      let text = "";
      for (let index = 0; index < 36; index += 1) {
        text +=
          index === 8 || index === 13 || index === 18 || index === 23
            ? "-"
            : index === 14
              ? "4"
              : digit(index === 19 ? (random32() & 3) | 8 : random32());
      }
      return text;
    },
  });

  define("performance", {
    now: () => now - startedAt,
    get timeOrigin() {
      return startedAt;
    },
  });

  function GuestDate(...values) {
    if (new.target === undefined) return new RealDate(now).toString();
    return construct(RealDate, values.length === 0 ? [now] : values, new.target);
  }
  defineProperty(GuestDate, "name", { value: "Date" });
  defineProperty(GuestDate, "length", { value: 7 });
  defineProperty(GuestDate, "prototype", { value: RealDate.prototype, writable: false });
  for (const key of ["parse", "UTC"])
    defineProperty(GuestDate, key, { value: RealDate[key], configurable: true, writable: true });
  defineProperty(GuestDate, "now", { value: () => now, configurable: true, writable: true });
  defineProperty(RealDate.prototype, "constructor", { value: GuestDate, configurable: true, writable: true });
  define("Date", GuestDate);

  const formatter = Intl.DateTimeFormat.prototype;
  const getFormat = uncurry(getOwnPropertyDescriptor(formatter, "format").get);
  const formatToParts = uncurry(formatter.formatToParts);
  const orNow = (date) => (date === undefined ? now : instanceOf(RealDate, date) ? toTime(date) : date);
  defineProperty(formatter, "format", {
    get() {
      const format = getFormat(this);
      return (date) => format(orNow(date));
    },
    configurable: true,
  });
  defineProperty(formatter, "formatToParts", {
    value(date) {
      return formatToParts(this, orNow(date));
    },
    configurable: true,
    writable: true,
  });

  // Temporal, where V8 has it, reads the machine's clock and zone only in these functions.
  if (globalThis.Temporal !== undefined) {
    const { Instant, Now } = globalThis.Temporal;
    const { fromEpochMilliseconds } = Instant;
    const toZoned = uncurry(Instant.prototype.toZonedDateTimeISO);
    const zoned = (zone = "UTC") => toZoned(fromEpochMilliseconds(now), zone);
    const { toPlainDate, toPlainDateTime, toPlainTime } = globalThis.Temporal.ZonedDateTime.prototype;
    const replacements = {
      __proto__: null,
      instant: () => fromEpochMilliseconds(now),
      timeZoneId: () => "UTC",
      zonedDateTimeISO: zoned,
      plainDateISO: (zone) => apply(toPlainDate, zoned(zone), []),
      plainDateTimeISO: (zone) => apply(toPlainDateTime, zoned(zone), []),
      plainTimeISO: (zone) => apply(toPlainTime, zoned(zone), []),
    };
    for (const name in replacements)
      defineProperty(Now, name, { value: replacements[name], configurable: true, writable: true });
  }

  // ---- deleted: what does not replay, or is not counted by the memory limit --------------------------------------

  for (const name of ["WebAssembly", "SharedArrayBuffer", "Atomics", "WeakRef", "FinalizationRegistry", "ShadowRealm"])
    delete globalThis[name];
  for (const name of ["resize", "transfer", "transferToFixedLength"]) delete ArrayBuffer.prototype[name];

  function define(name, value) {
    defineProperty(realm, name, { __proto__: null, value, configurable: true, writable: true });
  }

  // ---- global objects that V8 does not have ---------------------------------------------------------------------

  /** Parts of globals.js, and the names of each. */
  const PARTS = {
    __proto__: null,
    web: ["AbortController", "AbortSignal", "DOMException", "Event", "EventTarget", "atob", "btoa", "structuredClone"],
    text: ["TextDecoder", "TextEncoder"],
    url: ["URL", "URLSearchParams"],
    buffer: ["Buffer"],
  };
  const PART = "\n//# part ";
  const timers = freeze({
    __proto__: null,
    set: (callback, ms) => addTimer(callback, ms, [], false),
    run: (callback) => runLoose(callback, []),
  });
  const loadedParts = create(null);
  let library = "";

  /** Takes the text of globals.js, and optionally the name of a part whose exports replace global objects at once. A part is compiled when the program first uses one of its names, so that other programs pay nothing for it. */
  function provide(text, replacing) {
    library = text;
    if (replacing !== undefined) {
      const replacements = loadPart(replacing);
      for (const name in replacements) define(name, replacements[name]);
    }
    for (const part in PARTS) {
      const names = PARTS[part];
      for (let index = 0; index < names.length; index += 1) {
        const name = names[index];
        defineProperty(realm, name, {
          __proto__: null,
          get() {
            const value = loadPart(part)[name];
            // Where the program has frozen its global object, this getter stays.
            if (value !== undefined)
              tryDefineProperty(realm, name, { __proto__: null, value, configurable: true, writable: true });
            return value;
          },
          set(value) {
            define(name, value);
          },
          configurable: true,
        });
      }
    }
  }

  /** The exports of a part. While it is evaluated there are none yet, so a package that looks for the platform's own objects finds none. */
  function loadPart(part) {
    if (loadedParts[part] !== undefined) return loadedParts[part];
    const start = indexOf(library, `${PART}${part}\n`) + 1;
    const end = indexOf(library, PART, start);
    const text = end < 0 ? slice(library, start) : slice(library, start, end);
    const module = { __proto__: null, exports: create(null) };
    loadedParts[part] = module.exports;
    try {
      const evaluate = new RealFunction("module", "require", "timers", `${text}\n//# sourceURL=globals.js`);
      evaluate(module, (name) => loadPart(slice(name, "part:".length)), timers);
      nameExports(PARTS[part] ?? [], module.exports);
      loadedParts[part] = module.exports;
    } catch (error) {
      // The program was out of stack or memory. It may use the name again.
      delete loadedParts[part];
      throw error;
    }
    return module.exports;
  }

  /** Gives global objects their names. The bundler renames a class whose name is taken in its part. */
  function nameExports(names, exports) {
    for (let index = 0; index < names.length; index += 1) {
      const name = names[index];
      defineProperty(exports[name], "name", { __proto__: null, value: name, configurable: true });
    }
  }

  append({ __proto__: null, kind: "ready", protocol: PROTOCOL_VERSION, language: "javascript" });
  return { deliver, drain, provide, reject };
})();
