/** Kinds of images that models take, each by what its files begin with. */
const IMAGES: readonly (readonly [type: string, isBegun: (bytes: Buffer) => boolean])[] = [
  ["image/png", (bytes) => begins(bytes, "89504e470d0a1a0a")],
  ["image/jpeg", (bytes) => begins(bytes, "ffd8ff")],
  ["image/gif", (bytes) => begins(bytes, "474946383761") || begins(bytes, "474946383961")],
  ["image/webp", (bytes) => begins(bytes, "52494646") && bytes.toString("latin1", 8, 12) === "WEBP"],
];

/** The media type of an image, by its first bytes and not by its name; undefined for anything else. */
export function imageTypeOf(bytes: Buffer): string | undefined {
  return IMAGES.find(([, isBegun]) => isBegun(bytes))?.[0];
}

function begins(bytes: Buffer, hex: string): boolean {
  return bytes.subarray(0, hex.length / 2).toString("hex") === hex;
}
