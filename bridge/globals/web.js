/*
 * Small objects of the web platform, as their standards describe them. They are so small that a package for each would be
 * more to keep: DOM (events, abort signals), HTML (structuredClone, base64), Web IDL (DOMException).
 */

// ---- errors ----------------------------------------------------------------------------------------------------

const CODES = { AbortError: 20, TimeoutError: 23, DataCloneError: 25, InvalidCharacterError: 5, InvalidStateError: 11 };

export class DOMException extends Error {
  #name;

  constructor(message = "", name = "Error") {
    super(message);
    this.#name = name;
  }

  get name() {
    return this.#name;
  }

  get code() {
    return Object.hasOwn(CODES, this.#name) ? CODES[this.#name] : 0;
  }
}

// ---- events ----------------------------------------------------------------------------------------------------

let isStopped;

export class Event {
  #stopped = false;
  #prevented = false;

  constructor(type, { cancelable = false } = {}) {
    this.type = type;
    this.cancelable = cancelable;
    this.target = null;
    this.currentTarget = null;
  }

  get defaultPrevented() {
    return this.#prevented;
  }

  preventDefault() {
    if (this.cancelable) this.#prevented = true;
  }

  stopPropagation() {}

  stopImmediatePropagation() {
    this.#stopped = true;
  }

  static {
    isStopped = (event) => event.#stopped;
  }
}

export class EventTarget {
  #listeners = [];

  addEventListener(type, callback, options = {}) {
    if (callback === null || callback === undefined) return;
    const { once = false, signal } = typeof options === "object" && options !== null ? options : {};
    if (signal?.aborted) return;
    if (this.#listeners.some((listener) => listener.type === type && listener.callback === callback)) return;
    this.#listeners = [...this.#listeners, { type, callback, once, removed: false }];
    signal?.addEventListener("abort", () => this.removeEventListener(type, callback));
  }

  removeEventListener(type, callback) {
    this.#listeners = this.#listeners.filter((listener) => {
      if (listener.type === type && listener.callback === callback) listener.removed = true;
      return !listener.removed;
    });
  }

  /** A listener that throws ends the program, as any callback does that nothing awaits; later listeners still run. */
  dispatchEvent(event) {
    event.target = event.currentTarget = this;
    for (const listener of this.#listeners) {
      if (listener.type !== event.type || listener.removed) continue;
      if (isStopped(event)) break;
      if (listener.once) this.removeEventListener(listener.type, listener.callback);
      timers.run(() => {
        if (typeof listener.callback === "function") listener.callback.call(this, event);
        else listener.callback.handleEvent(event);
      });
    }
    event.currentTarget = null;
    return !event.defaultPrevented;
  }
}

// ---- signals ---------------------------------------------------------------------------------------------------

let mayConstruct = false;
let abortSignal;

function newSignal() {
  mayConstruct = true;
  const signal = new AbortSignal();
  mayConstruct = false;
  return signal;
}

export class AbortSignal extends EventTarget {
  #aborted = false;
  #reason = undefined;
  #dependents = [];
  #onabort = null;
  #calls = undefined;

  static {
    abortSignal = (signal, reason) => signal.#abort(reason);
  }

  constructor() {
    if (!mayConstruct) throw new TypeError("Illegal constructor: use new AbortController().signal.");
    super();
  }

  get aborted() {
    return this.#aborted;
  }

  get onabort() {
    return this.#onabort;
  }

  /** It is called in the order in which it and the listeners were first set. */
  set onabort(callback) {
    const isCallback = typeof callback === "function" || (typeof callback === "object" && callback !== null);
    this.#onabort = isCallback ? callback : null;
    if (!isCallback) {
      this.removeEventListener("abort", this.#calls);
      this.#calls = undefined;
    } else if (this.#calls === undefined) {
      this.#calls = (event) => {
        if (typeof this.#onabort === "function") this.#onabort(event);
      };
      this.addEventListener("abort", this.#calls);
    }
  }

  get reason() {
    return this.#reason;
  }

  throwIfAborted() {
    if (this.#aborted) throw this.#reason;
  }

  #abort(reason) {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason;
    const event = new Event("abort");
    this.dispatchEvent(event);
    const dependents = this.#dependents;
    this.#dependents = [];
    for (const dependent of dependents) dependent.#abort(this.#reason);
  }

  static abort(reason) {
    const signal = newSignal();
    signal.#abort(reason);
    return signal;
  }

  static timeout(ms) {
    const signal = newSignal();
    timers.set(() => signal.#abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")), ms);
    return signal;
  }

  static any(signals) {
    const signal = newSignal();
    const sources = [...signals];
    const aborted = sources.find((source) => source.#aborted);
    if (aborted) signal.#abort(aborted.#reason);
    else for (const source of sources) source.#dependents.push(signal);
    return signal;
  }
}

export class AbortController {
  #signal = newSignal();

  get signal() {
    return this.#signal;
  }

  abort(reason) {
    abortSignal(this.#signal, reason);
  }
}

// ---- base64 ----------------------------------------------------------------------------------------------------

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const DIGITS = new Map(Array.from(ALPHABET, (character, digit) => [character, digit]));

export function btoa(value) {
  const text = String(value);
  let encoded = "";
  for (let index = 0; index < text.length; index += 3) {
    let bits = 0;
    for (let offset = 0; offset < 3; offset += 1) {
      const code = index + offset < text.length ? text.charCodeAt(index + offset) : 0;
      if (code > 255)
        throw new DOMException(
          "btoa takes characters up to U+00FF. For other text: Buffer.from(text).toString('base64').",
          "InvalidCharacterError",
        );
      bits = (bits << 8) | code;
    }
    const given = Math.min(3, text.length - index);
    for (let digit = 0; digit < 4; digit += 1)
      encoded += digit <= given ? ALPHABET[(bits >> (18 - 6 * digit)) & 63] : "=";
  }
  return encoded;
}

export function atob(value) {
  let text = String(value).replace(/[\t\n\f\r ]/g, "");
  if (text.length % 4 === 0) text = text.replace(/==?$/, "");
  let decoded = "";
  let bits = 0;
  let count = 0;
  for (const character of text) {
    const digit = DIGITS.get(character);
    if (digit === undefined || text.length % 4 === 1)
      throw new DOMException("atob takes text in base64, and this is not.", "InvalidCharacterError");
    bits = ((bits << 6) | digit) & 0xffff;
    count += 6;
    if (count >= 8) {
      count -= 8;
      decoded += String.fromCharCode((bits >> count) & 255);
    }
  }
  return decoded;
}

// ---- copies ----------------------------------------------------------------------------------------------------

const ERRORS = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
const BOXES = [Number, String, Boolean, BigInt];
const NOT_CLONED = [Promise, Symbol, WeakMap, WeakSet, EventTarget, Event];
const TYPED_ARRAYS = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  BigInt64Array,
  BigUint64Array,
  Float32Array,
  Float64Array,
];

export function structuredClone(value, options) {
  if (options?.transfer !== undefined && [...options.transfer].length > 0)
    throw new DOMException("structuredClone cannot transfer here: leave out `transfer`.", "DataCloneError");
  const copies = new Map();
  /** Fills copies that were begun. It is a list, because nesting may be deeper than the stack. */
  const unfinished = [];

  function refuse(what) {
    throw new DOMException(`${what} could not be cloned.`, "DataCloneError");
  }

  function copy(value) {
    if (typeof value === "function") return refuse(`The function ${value.name}`);
    if (typeof value === "symbol") return refuse(String(value));
    if (typeof value !== "object" || value === null) return value;
    let copied = copies.get(value);
    if (copied === undefined) {
      copied = begin(value);
      copies.set(value, copied);
    }
    return copied;
  }

  /** The copy of an object, which `unfinished` fills. */
  function begin(value) {
    if (value instanceof Date) return new Date(value.getTime());
    if (value instanceof RegExp) return new RegExp(value.source, value.flags);
    if (value instanceof ArrayBuffer) return value.slice(0);
    if (value instanceof DataView) return new DataView(copy(value.buffer), value.byteOffset, value.byteLength);
    if (ArrayBuffer.isView(value))
      return new (TYPED_ARRAYS.find((type) => value instanceof type))(
        copy(value.buffer),
        value.byteOffset,
        value.length,
      );
    for (const type of BOXES) if (value instanceof type) return Object(value.valueOf());
    for (const type of NOT_CLONED) if (value instanceof type) return refuse(`A ${type.name}`);
    if (value instanceof Error) return copyError(value);
    if (value instanceof Map) {
      const map = new Map();
      unfinished.push(() => {
        for (const [key, item] of value) map.set(copy(key), copy(item));
      });
      return map;
    }
    if (value instanceof Set) {
      const set = new Set();
      unfinished.push(() => {
        for (const item of value) set.add(copy(item));
      });
      return set;
    }
    const object = Array.isArray(value) ? [] : {};
    // Holes of an array stay holes.
    if (Array.isArray(value)) object.length = value.length;
    unfinished.push(() => {
      for (const key of Object.keys(value)) define(object, key, copy(value[key]), true);
    });
    return object;
  }

  function copyError(value) {
    const name = String(value.name);
    const error = Object.hasOwn(ERRORS, name) ? new ERRORS[name]() : new Error();
    define(error, "stack", String(value.stack), false);
    if (value.message !== "") define(error, "message", String(value.message), false);
    if (Object.hasOwn(value, "cause")) unfinished.push(() => define(error, "cause", copy(value.cause), false));
    return error;
  }

  function define(object, key, value, enumerable) {
    Object.defineProperty(object, key, { value, writable: true, configurable: true, enumerable });
  }

  const copied = copy(value);
  while (unfinished.length > 0) unfinished.pop()();
  return copied;
}
