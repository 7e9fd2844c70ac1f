import { expect, it } from '@jest/globals';
import { bodyOf, programsOf } from './request.ts';

it('a request shown as a program has no key, shortened images, and the syntax of each language', () => {
  const image = { id: 1, name: 'a.png', url: `data:image/png;base64,${'A'.repeat(500)}` };
  const messages = [{ role: 'user' as const, text: 'Is "true" it\'s?', images: [image] }];
  const body = bodyOf(messages, { model: 'm', system: '', maxTokens: '5', temperature: '0' });
  const [curl, python, javaScript] = programsOf('http://api/v1', body).map(({ text }) => text);
  expect(curl).toContain('http://api/v1/chat/completions');
  expect(curl).toContain("it'\\''s");
  expect(python).toContain('"stream": True');
  expect(python).toContain('Is \\"true\\" it');
  expect(javaScript).toContain('"stream": true');
  for (const text of [curl, python, javaScript]) {
    expect(text).toContain('TIDEGATE_API_KEY');
    expect(text).not.toContain('A'.repeat(100));
  }
});

it('a request has its numbers as typed, and none from an empty field', () => {
  const of = (maxTokens: string, temperature: string) =>
    bodyOf([], { model: 'm', system: '', maxTokens, temperature });
  expect(of('64', '1.05')).toMatchObject({ max_tokens: 64, temperature: 1.05 });
  expect(of('64', '0')).toMatchObject({ temperature: 0 });
  expect(Object.keys(of('', ''))).toEqual(['model', 'messages', 'stream', 'stream_options']);
});
