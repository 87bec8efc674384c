import type { Approve } from "../gate/approval.ts";
import type { Model } from "../models/model.ts";

/** What `portcullis demo` gives a scene: an example that runs commands in place of a task with one answer. */
export interface Scene {
  /** Path of one of the scene's own modules, without its extension, as a command takes it. */
  readonly file: (name: string) => string;
  readonly heading: (text: string) => void;
  readonly print: (line: string) => void;
  /** What `--model` names; undefined where the scene's own model plays. */
  readonly model: Model | undefined;
  /** The person at the terminal; undefined where there is none, or where the scene's own model plays. */
  readonly person: Person | undefined;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** Runs the command line in a process of its own, shows the command and what it prints, and gives both back. */
  readonly portcullis: (args: readonly string[]) => Promise<Ran>;
}

/** A person who takes part in a scene. */
export interface Person {
  /** Puts a question, and resolves with the line that the person types; undefined once the input has ended. */
  readonly read: (question: string) => Promise<string | undefined>;
  readonly approve: Approve;
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}
