import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Scene } from "../scene.ts";

/** The conversation stops at two refunds, its process ends, and further processes finish it. */
export default async function refunds({ portcullis, file, heading }: Scene): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-refunds-"));
  const journal = ["--journal", join(folder, "portcullis.db")];
  const agent = ["--tools", file("tools"), "--model", file("model")];
  try {
    heading("an agent works until it needs a person, and its process ends");
    const asked = await portcullis(["ask", "Refund every order that never arrived.", ...agent, ...journal]);
    const [, execution = ""] = /portcullis decide (\S+)/.exec(asked.stderr) ?? [];
    const calls = [...asked.stderr.matchAll(/portcullis decide \S+ (\S+)/g)].map(([, call = ""]) => call);
    if (asked.code !== WAITS || calls.length !== 2) return false;

    heading("what waits is in the journal");
    const listed = await portcullis(["show", "--open", ...journal]);
    const shown = await portcullis(["show", execution, ...journal]);
    if (!shown.stdout.includes("waits for approval")) return false;

    heading("a person decides, whenever that is");
    const [first = "", second = ""] = calls;
    const allowed = await portcullis(["decide", execution, first, "--allow", "--by", "ann", ...journal]);
    const note = ["--by", "ann", "--note", "already refunded by phone"];
    const denied = await portcullis(["decide", execution, second, "--deny", ...note, ...journal]);

    heading("the conversation goes on where it was; no recorded turn is asked for again");
    const ended = await portcullis(["resume", execution, ...agent, ...journal]);
    const codes = [listed, allowed, denied, ended].map(({ code }) => code);
    return codes.every((code) => code === 0) && EXPECTED.every((text) => ended.stdout.includes(text));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Exit code of a command whose execution waits. */
const WAITS = 6;

/** Two small refunds were paid at once, one was approved, and one was refused with its reason. */
const EXPECTED = ['"A-1001"', '"A-1005"', "389.99", "already refunded by phone"];
