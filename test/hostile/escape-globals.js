// Tries: to find a global object that the language does not have and README.md of the guest does not name.
// Ends: completed []
const language = new Set(
  "Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Date Promise RegExp Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError globalThis JSON Math Intl ArrayBuffer Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array Float16Array Float32Array Float64Array Uint8ClampedArray BigUint64Array BigInt64Array DataView Map BigInt Set Iterator WeakMap WeakSet Proxy Reflect SuppressedError DisposableStack AsyncDisposableStack decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape eval isFinite isNaN".split(" "),
);
const guest = new Set(
  "tools searchTools save load ToolError console setTimeout setInterval clearTimeout clearInterval queueMicrotask crypto performance URL URLSearchParams TextEncoder TextDecoder atob btoa structuredClone AbortController AbortSignal EventTarget Event DOMException Buffer".split(" "),
);
return Reflect.ownKeys(globalThis).map(String).filter((name) => !language.has(name) && !guest.has(name));
