import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, isIPv6 } from 'node:net';

/**
 * The IPv4 and IPv6 addresses of a name. Null: the server does not answer. Called once for each
 * question, although clients repeat one whose answer is slow.
 */
export type Records = (name: string) => readonly string[] | null;

export interface NameServer {
  /** `127.0.0.1:port` */
  readonly address: string;
  close(): void;
}

const A = 1;
const AAAA = 28;
const CLASS_IN = 1;
const NAME_ERROR = 3;
const HEAD_BYTES = 12;

/** Starts a name server on 127.0.0.1 with the test's records. */
export async function startNameServer(records: Records): Promise<NameServer> {
  const socket = createSocket('udp4');
  const answers = new Map<string, Buffer | null>();
  socket.on('message', (query, { port, address }) => {
    // The repetition of a question has the same id.
    const question = query.toString('latin1');
    if (!answers.has(question)) answers.set(question, answerTo(query, records));
    const answer = answers.get(question);
    if (answer) socket.send(answer, port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${(socket.address() as AddressInfo).port}`, close: () => socket.close() };
}

/** Answers one question with all records of its type (RFC 1035, section 4). */
function answerTo(query: Buffer, records: Records): Buffer | null {
  const { name, end } = readName(query);
  const type = query.readUInt16BE(end);
  const addresses = records(name);
  if (addresses === null) return null;
  const found = addresses.filter((address) => (isIPv6(address) ? AAAA : A) === type);
  const head = Buffer.from(query.subarray(0, HEAD_BYTES));
  // A response, with recursion desired and available.
  head.writeUInt16BE(0x8180 | (addresses.length === 0 ? NAME_ERROR : 0), 2);
  for (const [at, count] of [1, found.length, 0, 0].entries()) head.writeUInt16BE(count, 4 + 2 * at);
  const question = query.subarray(HEAD_BYTES, end + 4);
  return Buffer.concat([head, question, ...found.map((address) => record(type, bytesOf(address)))]);
}

/** Takes no IPv6 address with an IPv4 part. */
function bytesOf(address: string): number[] {
  if (!isIPv6(address)) return address.split('.').map(Number);
  const [left = [], right = []] = address.split('::').map((half) => half.split(':').filter(Boolean));
  const groups = [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right];
  return groups.map((group) => Number.parseInt(group, 16)).flatMap((group) => [group >> 8, group & 0xff]);
}

function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = HEAD_BYTES;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

/** A record of the name in the question, with a time to live of 0. */
function record(type: number, address: readonly number[]): Buffer {
  const fixed = Buffer.alloc(12);
  fixed.writeUInt16BE(0xc000 | HEAD_BYTES, 0);
  fixed.writeUInt16BE(type, 2);
  fixed.writeUInt16BE(CLASS_IN, 4);
  fixed.writeUInt16BE(address.length, 10);
  return Buffer.concat([fixed, Buffer.from(address)]);
}
