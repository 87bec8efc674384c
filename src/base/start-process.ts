import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";

type Stream = "ignore" | "pipe" | number;

/**
 * Starts a process with these streams. Node closes in it what this process has opened, but not what this process was started
 * with, like files of a shell or of a supervisor: such a descriptor is empty there.
 */
export function startWith<Child>(streams: readonly Stream[], start: (streams: Stream[]) => Child): Child {
  let empty: number | undefined;
  try {
    const inherited = inheritedDescriptors();
    const all: Stream[] = [...streams];
    if (inherited.length > 0) empty = openSync("/dev/null", "r+");
    for (const descriptor of inherited) all[descriptor] ??= empty ?? "ignore";
    return start(Array.from(all, (stream) => stream ?? "ignore"));
  } finally {
    if (empty !== undefined) closeSync(empty);
  }
}

/** O_CLOEXEC, as /proc shows it. */
const CLOSED_ON_EXEC = 0o2_000_000;
/** Descriptors that node needs beside these to start a child. */
const SPARE = 16;
let passedOn: readonly number[] | undefined;

/**
 * Descriptors, beside the standard streams, that this process was started with and that its children would have too: node
 * closes them only up to the first number that is free. A number that this process could not open now is left out: node
 * cannot start a child with it.
 */
function inheritedDescriptors(): readonly number[] {
  passedOn = (passedOn ?? descriptors()).filter((descriptor) => {
    const [, flags] = /^flags:\s*(\d+)/m.exec(textOf(`/proc/self/fdinfo/${descriptor}`)) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0;
  });
  const [, most] = passedOn.length > 0 ? (/^Max open files\s+(\d+)/m.exec(textOf("/proc/self/limits")) ?? []) : [];
  const below = Number(most ?? Infinity) - passedOn.length - SPARE;
  return passedOn.filter((descriptor) => descriptor < below);
}

function descriptors(): readonly number[] {
  try {
    return readdirSync("/proc/self/fdinfo")
      .map(Number)
      .filter((descriptor) => descriptor > 2);
  } catch {
    // Only Linux passes them on.
    return [];
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
