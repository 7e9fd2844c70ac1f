// A model that takes its time to start: node model.mjs FILE DELAY_MS, with the port in $PORT. It
// writes to the file when it is ready, and answers GET /arrivals with the time and text of each
// call. Calls are answered after a while, as by any model, so that their answers take no CPU from
// the forwarding that is measured.
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [file, delayMs] = process.argv.slice(2);
const ANSWER_MS = 2_000;
const now = () => performance.timeOrigin + performance.now();
const note = (line) => appendFileSync(file, `${JSON.stringify(line)}\n`);
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const arrivals = [];

note({ start: process.pid });
const server = createServer((request, response) => {
  if (request.url === '/arrivals') return response.end(JSON.stringify(arrivals));
  if (request.method === 'GET') return response.end('ok');
  const atMs = now();
  let body = '';
  request.on('data', (data) => {
    body += data;
  });
  request.on('end', () => {
    const text = JSON.parse(body).messages[0].content;
    arrivals.push({ atMs, text });
    const message = { role: 'assistant', content: 'ok' };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    response.setHeader('content-type', 'application/json');
    const answer = { id: 'x', object: 'chat.completion', created: 0, model: 'm', choices, usage };
    setTimeout(() => response.end(JSON.stringify(answer)), ANSWER_MS);
  });
});
setTimeout(() => {
  server.listen(Number(process.env.PORT), '127.0.0.1', () =>
    note({ readyMs: now(), port: process.env.PORT }),
  );
}, Number(delayMs));
