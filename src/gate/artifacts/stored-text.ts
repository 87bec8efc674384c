/** A handler's result that is JSON text already, and is read only when there is room for it. */
export class StoredText {
  /** UTF-8 bytes of the text. */
  readonly bytes: number;
  readonly shape: string;
  readonly read: () => Promise<string>;

  constructor({ bytes, shape }: { readonly bytes: number; readonly shape: string }, read: () => Promise<string>) {
    this.bytes = bytes;
    this.shape = shape;
    this.read = read;
  }
}
