// A model that starts slowly: node model.mjs FILE DELAY_MS, with the port in $PORT. It writes to
// the file when it is ready, and answers GET /arrivals with the time and text of each call. The
// time is that of the call's first bytes. Calls are answered after a while, as by any model, so
// that their answers take no CPU from the forwarding that is measured.
//
// The gateways share the machine's cores with it, so it is cheap. It speaks just enough HTTP
// itself, and while it starts it calls itself, until V8 has optimized what it runs. That also gives
// it room for as many open files: Linux stops a process of several threads for some milliseconds
// each time it doubles the table of open files.
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';

const [file, delayMs] = process.argv.slice(2);
const ANSWER_MS = 2_000;
const OWN_ROUNDS = 16;
const AT_ONCE = 500;
const HOST = '127.0.0.1';
const now = () => performance.timeOrigin + performance.now();
const note = (line) => appendFileSync(file, `${JSON.stringify(line)}\n`);
const message = { role: 'assistant', content: 'ok' };
const choices = [{ index: 0, message, finish_reason: 'stop' }];
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const ANSWER = JSON.stringify({ id: 'x', object: 'chat.completion', created: 0, model: 'm', choices, usage });
const POST = 'P'.charCodeAt(0);
let calls = [];

/** Bodies are read when they are asked for, not when calls arrive. */
function arrivals() {
  const bodyOf = ({ bytes }) => Buffer.concat(bytes).toString().split('\r\n\r\n')[1];
  return calls.map((call) => ({ atMs: call.atMs, text: JSON.parse(bodyOf(call)).messages[0].content }));
}

function answer(socket, body) {
  const head = ['HTTP/1.1 200 OK', 'content-type: application/json', `content-length: ${body.length}`];
  socket.end([...head, 'connection: close', '', body].join('\r\n'));
}

function accept(socket) {
  const bytes = [];
  socket.on('error', () => socket.destroy());
  socket.on('data', (data) => {
    if (bytes.push(data) > 1) return;
    if (data[0] === POST) {
      calls.push({ atMs: now(), bytes });
      setTimeout(answer, ANSWER_MS, socket, ANSWER);
    } else answer(socket, data.includes('/arrivals') ? JSON.stringify(arrivals()) : 'ok');
  });
}

async function callItself() {
  const server = createServer(accept).listen(0, HOST);
  await once(server, 'listening');
  for (let round = 0; round < OWN_ROUNDS; round++) {
    const sockets = Array.from({ length: AT_ONCE }, () => connect(server.address().port, HOST));
    for (const socket of sockets) socket.on('error', () => {}).write('POST');
    while (calls.length < AT_ONCE) await new Promise(setImmediate);
    for (const socket of sockets) socket.destroy();
    calls = [];
  }
  server.close();
}

note({ start: process.pid });
await callItself();
setTimeout(() => {
  createServer(accept).listen(Number(process.env.PORT), HOST, () =>
    note({ readyMs: now(), port: process.env.PORT }),
  );
}, Number(delayMs) - performance.now());
