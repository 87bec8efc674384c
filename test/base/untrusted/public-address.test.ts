import * as fc from "fast-check";
import type { networkInterfaces } from "node:os";
import { expect, test } from "vitest";
import { isNearAddress, isPublicAddress } from "../../../src/base/index.ts";

const INSIDE =
  "0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.7 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 " +
  ":: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:7f00:1 64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::1 100::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1::1 2002:808:808::1 3fff::1 5f00::1 fc00::1 fd12:3456::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1 2606:4700::1%eth0";
const OUTSIDE =
  "1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.167.1.1 223.255.255.255 2606:4700::6810:84e5 2a00:1450:4001::1";

const NO_ADDRESSES = ["", "localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "8.8.8.8 ", "[2606:4700::1]"];

test.each([
  ...[...INSIDE.split(" "), ...NO_ADDRESSES].map((text) => [text, false] as const),
  ...OUTSIDE.split(" ").map((text) => [text, true] as const),
])("whether %j is an address that may be reached: %s", (text, may) => {
  expect(isPublicAddress(text)).toBe(may);
});

test("no IPv6 form that embeds an IPv4 address is public, whatever that address is", () => {
  fc.assert(
    fc.property(
      fc.ipV4(),
      fc.constantFrom("::ffff:", "::", "64:ff9b::", "64:ff9b:1::", "::ffff:0:"),
      (address, before) => {
        expect(isPublicAddress(`${before}${address}`)).toBe(false);
      },
    ),
  );
});

const INTERFACES = {
  lo: [{ family: "IPv4", cidr: "127.0.0.1/8" }],
  eth0: [
    { family: "IPv4", cidr: "8.8.4.10/24" },
    { family: "IPv6", cidr: "2a00:1450:4001:800::5/64" },
  ],
  point: [{ family: "IPv4", cidr: "9.9.9.9/32" }],
  odd: [{ family: "IPv4", cidr: null }],
} as unknown as ReturnType<typeof networkInterfaces>;

const NEAR = "127.0.0.1 8.8.4.10 8.8.4.200 9.9.9.9 2a00:1450:4001:800::5 2a00:1450:4001:800:1:2:3:4".split(" ");

test.each([...NEAR, "8.8.5.10", "9.9.9.10", "1.1.1.1", "2a00:1450:4001:801::5"])(
  "whether %s is this machine's, or in a network of it",
  (address) => {
    expect(isNearAddress(address, INTERFACES)).toBe(NEAR.includes(address));
  },
);
