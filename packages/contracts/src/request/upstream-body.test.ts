import { describe, expect, it } from '@jest/globals';
import { isRefusal } from '../errors.ts';
import { validateCompletionRequest } from './completion-request.ts';
import { buildUpstreamBody } from './upstream-body.ts';

const LINK = { type: 'image_url', image_url: { url: 'https://images.example/cat.png', detail: 'low' } };

function requestOf(body: object) {
  const result = validateCompletionRequest(
    JSON.stringify({ model: 'public', messages: [{ role: 'user', content: 'é"' }], ...body }),
  );
  if (isRefusal(result)) throw new Error(result.message);
  return result;
}

const joined = (pieces: Uint8Array[]): unknown => JSON.parse(Buffer.concat(pieces).toString('utf8'));

describe('buildUpstreamBody', () => {
  it('renames the model and sends the defaults explicitly [request.temperature.default]', () => {
    expect(joined(buildUpstreamBody(requestOf({}), 'in"ner', []))).toEqual({
      model: 'in"ner',
      messages: [{ role: 'user', content: 'é"' }],
      max_tokens: 512,
      temperature: 0,
      stream: false,
    });
  });

  it('passes on the sampling and asks a streaming upstream for usage', () => {
    const body = {
      stream: true,
      top_p: 0.5,
      stop: 'x',
      seed: 3,
      temperature: 1,
      max_completion_tokens: 9,
      max_tokens: 4,
      n: 1,
      user: 'u',
    };
    expect(joined(buildUpstreamBody(requestOf(body), 'inner', []))).toEqual({
      model: 'inner',
      messages: [{ role: 'user', content: 'é"' }],
      max_tokens: 9,
      temperature: 1,
      top_p: 0.5,
      stop: ['x'],
      seed: 3,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it.each(['0', '-9223372036854775808', '9007199254740993', '9223372036854775807'])(
    'passes on the seed %s to the last digit',
    (seed) => {
      const body = `{"model":"public","messages":[{"role":"user","content":"Hi"}],"seed":${seed}}`;
      const result = validateCompletionRequest(body);
      if (isRefusal(result)) throw new Error(result.message);
      const sent = buildUpstreamBody(result, 'inner', []);
      expect(Buffer.concat(sent).toString()).toContain(`"seed":${seed},`);
      expect(joined(sent)).toMatchObject({ max_tokens: 512, seed: Number(seed) });
    },
  );

  it('puts each data URL where its link was, without copying it or the messages', () => {
    const request = requestOf({
      messages: [{ role: 'user', content: [LINK, { type: 'text', text: 'vs' }, LINK] }],
    });
    const dataUrls = ['"data:image/png;base64,AAAA"', '"data:image/gif;base64,BBBB"'].map((json) =>
      Buffer.from(json),
    );
    const pieces = buildUpstreamBody(request, 'inner', dataUrls);
    expect(joined(pieces)).toMatchObject({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
            { type: 'text', text: 'vs' },
            { type: 'image_url', image_url: { url: 'data:image/gif;base64,BBBB' } },
          ],
        },
      ],
    });
    for (const segment of request.messages) if (!('image' in segment)) expect(pieces).toContain(segment);
    for (const dataUrl of dataUrls) expect(pieces).toContain(dataUrl);
  });

  it('refuses to leave out an image', () => {
    const request = requestOf({ messages: [{ role: 'user', content: [LINK] }] });
    expect(() => buildUpstreamBody(request, 'inner', [])).toThrow('linked image 0');
  });
});
