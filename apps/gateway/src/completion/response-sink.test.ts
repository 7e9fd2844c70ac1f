import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { Exchange } from '../http/exchange.ts';
import { ResponseSink } from './response-sink.ts';

const LONG_MS = 60_000;
const PIECE = 'x'.repeat(1024 * 1024);

it('reports that its reader has caught up only once it has, whatever is written behind it', async () => {
  const sinks: ResponseSink[] = [];
  const responses: ServerResponse[] = [];
  const server = createServer((request, response) => {
    responses.push(response);
    const sink = new ResponseSink(new Exchange(request, response), LONG_MS);
    sink.begin();
    sinks.push(sink);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(2));
  await eventually(() => sinks.length === 2);
  const [first, second] = sinks as [ResponseSink, ResponseSink];

  let caughtUp = false;
  first.onDrain = () => {
    caughtUp = true;
  };
  // Until neither the client's kernel nor ours takes more.
  do {
    while (first.write(PIECE));
    await new Promise((resolve) => setTimeout(resolve, 100));
  } while (!responses[0]?.socket?.writableNeedDrain);
  caughtUp = false;
  second.write('behind');
  expect(caughtUp).toBe(false);
  client.resume();
  await eventually(() => caughtUp);
  client.destroy();
  server.close();
});
