// Tries: to be a guest for another language than the one that was asked for.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, settled } from "../hostile-support/frames.ts";
export default () => guestThatSays(['{"kind":"ready","protocol":1,"language":"python"}'], [settled("1")]);
