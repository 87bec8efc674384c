/*
 * What the bundled packages find in place of the global object and of what the guest has deleted. They ask the global
 * object for what a platform has of its own, which would load other parts.
 */
export const platform = { decodeURIComponent, escape };

/** No object is of this class. The getters throw, as those of the real one do for objects of other classes. */
export class SharedArrayBuffer {
  get byteLength() {
    throw new TypeError("This is not a SharedArrayBuffer.");
  }

  get growable() {
    throw new TypeError("This is not a SharedArrayBuffer.");
  }
}
