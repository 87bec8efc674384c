import type { Language } from "../../bridge/frames.ts";

/** The programs that the contract is tried with, in one language. */
interface ContractPrograms {
  /** Calls `ping` twice at once, and returns the sum of both answers. */
  readonly addsTwo: string;
  /** Keeps a name where all of the program reaches it, calls `ping`, and returns the name. */
  readonly keepsName: (name: string) => string;
  /** Returns `first` where it finds no trace of an earlier program, and leaves traces of its own. */
  readonly leavesTraces: string;
  /** Returns a text of a mebibyte. */
  readonly returnsTooMuch: string;
  /** Calls `ping`, and runs for ever when that is answered. */
  readonly neverYields: string;
  /** By what means a program takes all memory, and one that does. */
  readonly takeAllMemory: readonly (readonly [by: string, program: string])[];
}

export const CONTRACT_PROGRAMS: Readonly<Record<Language, ContractPrograms>> = {
  javascript: {
    addsTwo: "const [a, b] = await Promise.all([tools.ping({ n: 1 }), tools.ping({ n: 2 })]);\nreturn a + b;",
    keepsName: (name) => `globalThis.name = ${JSON.stringify(name)};\nawait tools.ping({});\nreturn globalThis.name;`,
    leavesTraces:
      'const seen = globalThis.left ?? "first";\nglobalThis.left = "trace";\nObject.prototype.left = "trace";\nArray.prototype.map = null;\nreturn seen;',
    returnsTooMuch: "return 'x'.repeat(1048576)",
    neverYields: "await tools.ping({});\nfor (;;) {}",
    takeAllMemory: [
      ["live objects", "const kept = [];\nfor (;;) kept.push({ a: 1 });"],
      [
        "date formats, which live outside of V8's heap",
        "const kept = [];\nfor (;;) kept.push(new Intl.DateTimeFormat('en'));",
      ],
      ["strings", "const kept = [];\nfor (let n = 0; ; n += 1) kept.push(String(n).repeat(1e5).toUpperCase());"],
      ["one enormous request", "Array.from({ length: 1e9 }, (_, n) => n);"],
    ],
  },
  python: {
    addsTwo: "a, b = await asyncio.gather(tools.ping(n=1), tools.ping(n=2))\nreturn a + b",
    keepsName: (name) => `import json\njson.name = ${JSON.stringify(name)}\nawait tools.ping()\nreturn json.name`,
    leavesTraces:
      'import builtins, json\nseen = getattr(builtins, "left", "first")\nbuiltins.left = "trace"\njson.dumps = asyncio.gather = None\nreturn seen',
    returnsTooMuch: "return 'x' * 1048576",
    neverYields: "await tools.ping()\nwhile True:\n    pass",
    takeAllMemory: [
      ["live objects", "kept = []\nwhile True:\n    kept.append({'a': len(kept)})"],
      ["bytes", "kept = []\nwhile True:\n    kept.append(bytearray(1_000_000))"],
      [
        "mapped memory",
        "import mmap\nkept = []\nwhile True:\n    kept.append(mmap.mmap(-1, 1 << 20))\n    kept[-1].write(b'x' * (1 << 20))",
      ],
      ["strings", "kept = []\nwhile True:\n    kept.append(str(len(kept)) * 100_000)"],
    ],
  },
};
