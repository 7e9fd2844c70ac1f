// The baseline: Express and undici. Parses and writes JSON on both sides, and parses and rewrites
// each stream chunk. No keys, no limits, no metering.
//
//   node bench/gateway/express.mjs PORT UPSTREAM_ORIGIN
import express from 'express';
import { Pool } from 'undici';

const [port, upstream = ''] = process.argv.slice(2);
const pool = new Pool(upstream, { connections: 256 });
const app = express();
app.disable('x-powered-by');
app.disable('etag');
app.use(express.json({ limit: '20mb' }));
app.post('/v1/chat/completions', async (request, response) => {
  const answer = await pool.request({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request.body),
  });
  if (!request.body.stream) return void response.json(await answer.body.json());
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let rest = '';
  const decoder = new TextDecoder();
  for await (const bytes of answer.body) {
    const events = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
    rest = events.pop() ?? '';
    let out = '';
    for (const event of events) {
      const data = event.slice('data: '.length);
      out += data === '[DONE]' ? 'data: [DONE]\n\n' : `data: ${JSON.stringify(JSON.parse(data))}\n\n`;
    }
    response.write(out);
  }
  response.end();
});
app.listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
