// Tries: to never say a word.
// Ends: stopped runningMs
import { guestThatSays } from "../hostile-support/frames.ts";
export default () => guestThatSays([]);
