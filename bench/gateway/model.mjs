// The cheapest possible model in Node. Every request gets the same whole answer or the same 1,000
// chunks. Prints its port.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { ANSWER, MODELS, WHOLE_ANSWER } from './answers.mjs';

const CHUNKS = 1_000;
const whole = Buffer.from(WHOLE_ANSWER);

const event = (choices, usage) =>
  `data: ${JSON.stringify({ ...ANSWER, object: 'chat.completion.chunk', choices, usage })}\n\n`;
const piece = (delta, finish = null) =>
  event([{ index: 0, delta, logprobs: null, finish_reason: finish }], undefined);
const first = piece({ role: 'assistant', content: '' });
// A few tokens at a time, as a server that decodes a batch of sequences writes them.
const pieces = Buffer.from(piece({ content: ' wave' }).repeat(10));
const last = `${piece({}, 'stop')}${event([], ANSWER.usage)}data: [DONE]\n\n`;

async function stream(response) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(first);
  for (let i = 0; i < CHUNKS / 10; i++) if (!response.write(pieces)) await once(response, 'drain');
  response.end(last);
}

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'application/json' }).end(MODELS);
    return;
  }
  let body = '';
  request.setEncoding('utf8').on('data', (text) => {
    body += text;
  });
  request.on('end', () => {
    if (body.includes('"stream":true')) void stream(response);
    else
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length })
        .end(whole);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
