// The lower bound: node:http and undici, which relay bytes as they arrive.
//
//   node bench/gateway/http.mjs PORT UPSTREAM_ORIGIN
import { createServer } from 'node:http';
import { Pool } from 'undici';

const [port, upstream = ''] = process.argv.slice(2);
const pool = new Pool(upstream, { connections: 256 });
const server = createServer((request, response) => {
  pool.stream(
    { method: 'POST', path: request.url, headers: { 'content-type': 'application/json' }, body: request },
    ({ statusCode, headers }) => response.writeHead(statusCode, { 'content-type': headers['content-type'] }),
    (error) => error && response.destroy(),
  );
});
server.listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
