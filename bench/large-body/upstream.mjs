// A model server in its own process. Streams chunks that contain the time they were sent, and reads
// and drops large bodies.
//
//   node bench/large-body/upstream.mjs <interval between chunks in ms>
import { createServer } from 'node:http';

const intervalMs = Number(process.argv[2]);
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const whole = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'Seen.' }, finish_reason: 'stop' }],
  usage,
});

/** The time in nanoseconds, on a clock that all processes of the machine share. */
const chunk = () =>
  `data: {"choices":[{"index":0,"delta":{"content":"${process.hrtime.bigint()} "},"finish_reason":null}]}\n\n`;

function stream(response) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const timer = setInterval(() => response.write(chunk()), intervalMs);
  response.on('close', () => clearInterval(timer));
}

const server = createServer((request, response) => {
  const streamed = request.headers.accept === 'text/event-stream';
  request.on('data', () => {});
  request.on('end', () => {
    if (streamed) stream(response);
    else response.writeHead(200, { 'content-type': 'application/json' }).end(whole);
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
