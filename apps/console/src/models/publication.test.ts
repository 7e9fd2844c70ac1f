import { describe, expect, it } from '@jest/globals';
import { checkOf, connectionOf, filledIn, NOTHING_YET, publicationInputOf } from './publication.ts';

const SERVED = { name: 'qwen', upstreamModel: '/m/qwen.gguf', kind: 'vision', contextTokens: 4_096 } as const;

describe('the publishing form', () => {
  it('sends what is typed, without empty fields or surrounding blanks', () => {
    const typed = { ...NOTHING_YET, name: ' a ', urls: 'http://x, http://y\nhttp://z ', upstreamKey: ' k ' };
    const urls = ['http://x', 'http://y', 'http://z'];
    expect(publicationInputOf('o', typed)).toEqual({
      org: 'o',
      name: 'a',
      kind: 'text',
      mode: 'always_on',
      contextTokens: 8_192,
      urls,
      upstreamKey: 'k',
    });
    expect(connectionOf('o', typed)).toEqual({ org: 'o', urls, upstreamKey: 'k' });
    expect(checkOf('o', typed)).toMatchObject({ urls, name: 'a', contextTokens: 8_192 });
    for (const contextTokens of ['', '1e3', '0x10'])
      expect(publicationInputOf('o', { ...typed, contextTokens }).contextTokens).toBeNaN();
  });

  it('is filled in from what a server reports, but keeps a name that was typed', () => {
    expect(filledIn(NOTHING_YET, SERVED, undefined)).toMatchObject({
      name: 'qwen',
      upstreamModel: '/m/qwen.gguf',
      kind: 'vision',
      contextTokens: '4096',
    });
    expect(filledIn({ ...NOTHING_YET, name: 'mine' }, SERVED, undefined).name).toBe('mine');
  });

  it('follows when another of the models is chosen, and keeps the context if none is reported for that one', () => {
    const first = filledIn(NOTHING_YET, SERVED, undefined);
    const other = { name: 'b', upstreamModel: 'b', kind: 'text', contextTokens: null } as const;
    expect(filledIn(first, other, SERVED)).toMatchObject({
      name: 'b',
      upstreamModel: '',
      kind: 'text',
      contextTokens: '4096',
    });
  });
});
