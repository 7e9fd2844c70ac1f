/**
 * A minimal model. It writes each start, with the names of its environment variables, to the file
 * in its first argument, and serves /health. It can be told to start slowly, to have a child, to
 * ignore SIGTERM, to fail, to print without end, to list the models that it serves, to require a
 * key, or to have nothing but its health path.
 */
export const MODEL_PROGRAM = `
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { spawn } from 'node:child_process';
const [starts, delayMs, ...how] = process.argv.slice(2);
appendFileSync(starts, process.pid + ' ' + Object.keys(process.env).join(',') + '\\n');
if (how.includes('fail')) process.exit(7);
if (how.includes('stubborn')) process.on('SIGTERM', () => {});
if (how.includes('parent')) {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  appendFileSync(starts, child.pid + ' grandchild\\n');
}
const chat = () => process.stdout.write('words of a prompt\\n'.repeat(10_000), () => {
  appendFileSync(starts, process.pid + ' printed\\n');
  setTimeout(chat, 20);
});
if (how.includes('chatty')) chat();
const given = (name) => how.find((word) => word.startsWith(name + '='))?.slice(name.length + 1);
const [serves, key] = [given('serves'), given('key')];
let sick = false;
setTimeout(() => createServer((request, response) => {
  if (request.url === '/sick') sick = true;
  const isApi = request.url.startsWith('/v1/');
  const refuses = isApi && key && request.headers.authorization !== 'Bearer ' + key;
  response.statusCode = sick ? 500 : isApi && how.includes('bare') ? 404 : refuses ? 401 : 200;
  const models = serves && request.url === '/v1/models' && { data: [{ id: serves }] };
  response.end(models ? JSON.stringify(models) : 'ok');
}).listen(process.env.PORT, '127.0.0.1'), Number(delayMs));
`;
