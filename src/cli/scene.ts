/** What `portcullis demo` gives a scene: an example that runs commands in place of a task with one answer. */
export interface Scene {
  /** Path of one of the scene's own modules, without its extension, as a command takes it. */
  readonly file: (name: string) => string;
  readonly heading: (text: string) => void;
  /** Runs the command line in a process of its own, shows the command and what it prints, and gives both back. */
  readonly portcullis: (args: readonly string[]) => Promise<Ran>;
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}
