import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BEHAVIOURS } from './behaviour.ts';
import { type Standin, startStandin } from './server.ts';

let standin: Standin;
beforeAll(async () => {
  standin = await startStandin({ contextTokens: 100_000 });
});
afterAll(() => standin.close());

const ask = (content: string, stream: boolean, more: object = {}): Promise<Response> =>
  fetch(`${standin.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({
      model: 'standin',
      messages: [{ role: 'user', content }],
      stream,
      ...(stream ? { stream_options: { include_usage: true } } : {}),
      ...more,
    }),
  });
const whole = (content: string) => ask(content, false);
const streamText = async (content: string) => (await ask(content, true)).text();
const events = async (content: string) =>
  (await streamText(content)).split('\n\n').filter((event) => event !== '');
// biome-ignore lint/suspicious/noExplicitAny: tests reach into answers of any shape
const chunks = async (content: string): Promise<any[]> =>
  (await events(content))
    .filter((event) => event !== 'data: [DONE]')
    .map((event) => JSON.parse(event.slice(6)));
// biome-ignore lint/suspicious/noExplicitAny: tests reach into answers of any shape
const body = async (content: string): Promise<any> => (await whole(content)).json();

describe('directives', () => {
  it.each([
    '[[unheard-of]]',
    '[[tokens]]',
    '[[tokens=many]]',
    '[[stall=1]]',
    '[[usage=1,2]]',
    '[[error=odd]]',
  ])('like %s are refused, so that no test silently tests nothing', async (directive) => {
    expect((await whole(directive)).status).toBe(400);
  });

  it('are read from the last user message only', async () => {
    const messages = [
      { role: 'user', content: '[[status=500]]' },
      { role: 'assistant', content: '[[status=501]]' },
      { role: 'user', content: [{ type: 'text', text: '[[status=502]]' }] },
      { role: 'assistant', content: '[[status=503]]' },
    ];
    expect((await ask('', false, { messages })).status).toBe(502);
  });

  it('are all described in the README', async () => {
    const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
    for (const name of Object.keys(BEHAVIOURS))
      expect(readme).toMatch(new RegExp(`^\\| \`${name}[=\`]`, 'm'));
  });
});

describe('the content', () => {
  it('has as many tokens or bytes as were asked for, or is exactly the text that was asked for', async () => {
    expect((await body('[[tokens=300]]')).usage.completion_tokens).toBe(300);
    expect((await body('[[say=Just this.]]')).choices[0].message.content).toBe('Just this.');
    expect((await body('[[bytes=3000000]]')).choices[0].message.content).toHaveLength(3_000_000);
    expect((await body('[[unicode]]')).choices[0].message.content).toContain('🌊');
  });

  it('can come in one event of exactly as many bytes as were asked for', async () => {
    const sizes = (await events('[[event-bytes=1100000]]')).map((event) => event.length + 2);
    expect(sizes).toContain(1_100_000);
  });

  it('can be null, or have tool calls or reasoning beside it', async () => {
    expect((await body('[[null-content]]')).choices[0].message.content).toBeNull();
    expect((await body('[[tool-calls]]')).choices[0].message.tool_calls).toHaveLength(1);
    expect((await body('[[reasoning]]')).choices[0].message.reasoning_content).toMatch(/./);
    expect(await streamText('[[tool-calls]]')).toContain('"tool_calls":[');
    expect(await streamText('[[reasoning]]')).toContain('"reasoning_content":');
    expect(await streamText('[[null-content]]')).toContain('"content":null');
  });

  it('can end with any finish reason', async () => {
    expect((await body('[[finish=weird]]')).choices[0].finish_reason).toBe('weird');
    expect(await streamText('[[finish=weird]]')).toContain('"finish_reason":"weird"');
  });
});

describe('usage', () => {
  it('can be missing', async () => {
    expect((await body('[[no-usage]]')).usage).toBeNull();
    expect(await streamText('[[no-usage]]')).not.toContain('"usage"');
  });

  it('can be a lie', async () => {
    const lie = { prompt_tokens: -1, completion_tokens: 2.5, total_tokens: 9 };
    expect((await body('[[usage=-1,2.5,9]]')).usage).toMatchObject(lie);
    expect((await chunks('[[usage=-1,2.5,9]]')).at(-1).usage).toMatchObject(lie);
  });

  it('can be on the last content chunk', async () => {
    const last = (await chunks('[[usage-on-last]]')).at(-1);
    expect(last).toMatchObject({
      choices: [{ finish_reason: 'stop' }],
      usage: { total_tokens: expect.any(Number) },
    });
  });
});

describe('the form of a stream', () => {
  it('can have the role and the first text in one chunk', async () => {
    const [first] = await chunks('[[merged-first]] [[say=Hello you]]');
    expect(first.choices[0].delta).toEqual({ role: 'assistant', content: 'Hello' });
  });

  it('can have CRLF line ends, comments, and no [DONE]', async () => {
    const crlf = await streamText('[[crlf]]');
    expect(crlf.replaceAll('\r\n', '')).not.toContain('\n');
    expect(await streamText('[[comments]]')).toMatch(/^: keep-alive\n\ndata: /);
    expect(await streamText('[[no-done]]')).not.toContain('[DONE]');
  });

  it('can be written a few bytes at a time, even in the middle of characters, and reads the same', async () => {
    const content = async (directives: string) =>
      (await chunks(directives)).map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
    expect(await content('[[say=Grüße 🌊🚢]] [[split-bytes=3]]')).toBe('Grüße 🌊🚢');
    expect((await body('[[say=Grüße 🌊🚢]] [[split-bytes=3]]')).choices[0].message.content).toBe(
      'Grüße 🌊🚢',
    );
  });

  it('can stay open after [DONE]', async () => {
    const response = await ask('[[linger]]', true);
    const reader = response.body?.getReader();
    let text = '';
    while (!text.includes('[DONE]')) text += new TextDecoder().decode((await reader?.read())?.value);
    expect(standin.stats().inFlight).toBe(1);
    await reader?.cancel();
  });
});

describe('breaking off', () => {
  const readToEnd = async (response: Response): Promise<string> => {
    const decoder = new TextDecoder();
    let text = '';
    for await (const part of response.body as AsyncIterable<Uint8Array>) text += decoder.decode(part);
    return text;
  };

  it.each([true, false])('can be a reset of the connection (streamed: %p)', async (streamed) => {
    const before = standin.stats().brokenOff;
    await expect(ask('[[die]]', streamed).then(readToEnd)).rejects.toThrow();
    expect(standin.stats().brokenOff).toBe(before + 1);
  });

  it('can come after as many tokens as were asked for', async () => {
    const text = await streamText('[[inband-error]] [[after=2]] [[say=a b c d e]]');
    const failedAt = text.indexOf('"error"');
    expect(text.slice(0, failedAt)).toContain('" b"');
    expect(text.slice(0, failedAt)).not.toContain('" c"');
  });

  it('can be an error event with a [DONE] after it, or an error body', async () => {
    const all = await events('[[inband-error]]');
    expect(all.some((event) => event.startsWith('data: {"error":'))).toBe(true);
    expect(all.at(-1)).toBe('data: [DONE]');
    expect(all.at(-2)).toContain('"error"');
    expect(await body('[[inband-error]]')).toHaveProperty('error.message');
  });

  it('can be garbage', async () => {
    await expect(whole('[[garbage]]').then((response) => response.json())).rejects.toThrow(/JSON/);
    await expect(chunks('[[garbage]]')).rejects.toThrow(/JSON/);
  });

  it('can be an error status', async () => {
    const response = await whole('[[status=503]]');
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: 503, type: 'ServiceUnavailableError' } });
  });

  it('can end the server', async () => {
    const other = await startStandin();
    const told = fetch(`${other.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'standin', messages: [{ role: 'user', content: '[[exit]]' }] }),
    }).then((response) => response.text());
    await expect(told).rejects.toThrow();
    await expect(fetch(`${other.url}/health`)).rejects.toThrow();
    await other.close();
  });
});
