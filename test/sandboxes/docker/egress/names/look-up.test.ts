import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { isIPv6 } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { lookUp } from "../../../../../src/sandboxes/docker/egress/egress-plan.ts";

const IPV6 = 28;

interface NameServer {
  readonly address: string;
  /** Names that it was asked for. */
  readonly asked: readonly string[];
}

/** A name server that knows these addresses by name, and does not answer about other names. */
async function nameServer(known: Readonly<Record<string, readonly string[]>>): Promise<NameServer> {
  const socket = createSocket("udp4");
  const asked: string[] = [];
  socket.on("message", (query, { port }) => {
    const name = nameIn(query);
    asked.push(name);
    const addresses = known[name];
    if (!addresses) return;
    const type = query.readUInt16BE(12 + name.length + 2);
    const question = query.subarray(12, 12 + name.length + 6);
    const answers = addresses.filter((address) => isIPv6(address) === (type === IPV6)).map(recordOf);
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(0x81_80, 2);
    [1, answers.length, 0, 0].forEach((count, index) => head.writeUInt16BE(count, 4 + 2 * index));
    socket.send(Buffer.concat([head, question, ...answers]), port, "127.0.0.1");
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  onTestFinished(() => void socket.close());
  return { address: `127.0.0.1:${socket.address().port}`, asked };
}

function nameIn(query: Buffer): string {
  const labels: string[] = [];
  for (let at = 12; query[at]; at += 1 + (query[at] ?? 0))
    labels.push(query.toString("latin1", at + 1, at + 1 + (query[at] ?? 0)));
  return labels.join(".").toLowerCase();
}

function recordOf(address: string): Buffer {
  const bytes = isIPv6(address)
    ? Buffer.from(
        address
          .split(":")
          .map((part) => part.padStart(4, "0"))
          .join(""),
        "hex",
      )
    : Buffer.from(address.split(".").map(Number));
  const head = Buffer.from([0xc0, 12, 0, bytes.length === 4 ? 1 : IPV6, 0, 1, 0, 0, 0, 60, 0, bytes.length]);
  return Buffer.concat([head, bytes]);
}

const NOT_TRANSLATED = { "ipv4only.arpa": ["192.0.0.170"] };
const GLOBAL = "2606:4700:0:0:0:0:0:1";
const never = new AbortController().signal;

test("a host has the addresses that name servers say, IPv4 first", async () => {
  const { address } = await nameServer({ ...NOT_TRANSLATED, "a.test": ["192.0.2.1", GLOBAL, "192.0.2.2"] });
  expect(await lookUp("a.test", never, [address])).toEqual(["192.0.2.1", "192.0.2.2", "2606:4700::1"]);
});

test("where the network translates IPv6 to IPv4, by whatever prefix, a host with an IPv6 address is refused", async () => {
  const { address } = await nameServer({
    "ipv4only.arpa": ["192.0.0.170", "2a00:1234:0:0:0:0:c000:aa"],
    "a.test": ["192.0.2.1", "2a00:1234:0:0:0:0:a00:1"],
    "b.test": ["192.0.2.1"],
  });
  await expect(lookUp("a.test", never, [address])).rejects.toThrow("a.test has an IPv6 address, and in this network");
  expect(await lookUp("b.test", never, [address])).toEqual(["192.0.2.1"]);
});

test("a look-up of which no server says anything occupies no thread that other look-ups need, and ends with its container", async () => {
  const { address, asked } = await nameServer({});
  const container = new AbortController();
  const lookUps = Array.from({ length: 50 }, (_, index) => lookUp(`n${index}.test`, container.signal, [address]));
  await expect.poll(() => asked.length).toBeGreaterThanOrEqual(100);
  expect(await lookup("localhost", { family: 4 })).toMatchObject({ address: "127.0.0.1" });
  container.abort();
  expect(await Promise.all(lookUps)).toEqual(lookUps.map(() => []));
});
