// A model server in its own process. Every stream has a first chunk immediately, then one per
// interval, and a proper end.
//
//   node bench/streams/upstream.mjs <chunks of a stream> <interval in ms>
import { createServer } from 'node:http';

const [chunks, intervalMs] = process.argv.slice(2).map(Number);
const event = (data) => `data: ${JSON.stringify(data)}\n\n`;
/** Contains the time in nanoseconds, on a clock that all processes of the machine share. */
const piece = (finish) =>
  event({
    choices: [{ index: 0, delta: { content: `${process.hrtime.bigint()} ` }, finish_reason: finish }],
  });
const usage = { prompt_tokens: 1, completion_tokens: chunks, total_tokens: chunks + 1 };
const end = `${event({ choices: [], usage })}data: [DONE]\n\n`;

function stream(response) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let left = chunks;
  const next = () => {
    left--;
    if (left > 0) return response.write(piece(null));
    clearInterval(timer);
    response.end(piece('stop') + end);
  };
  const timer = setInterval(next, intervalMs);
  response.on('close', () => clearInterval(timer));
  next();
}

const whole = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'Here.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

const server = createServer(async (request, response) => {
  let body = '';
  for await (const bytes of request) body += bytes;
  if (body.includes('"stream":true')) stream(response);
  else response.writeHead(200, { 'content-type': 'application/json' }).end(whole);
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () =>
  process.stdout.write(`${server.address().port}\n`),
);
