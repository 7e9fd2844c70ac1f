import { describe, expect, it } from '@jest/globals';
import { changesOf } from './changes.ts';

const external = {
  urls: ['http://a/v1', 'http://b/v1'],
  upstreamModel: 'up',
  hasUpstreamKey: true,
  healthPath: null,
  startTimeoutS: null,
};
const model = { contextTokens: 100, sleepAfterS: null };
const typed = {
  urls: 'http://a/v1\nhttp://b/v1',
  contextTokens: '100',
  upstreamModel: 'up',
  upstreamKey: '',
  healthPath: '',
  sleepAfterS: '',
  startTimeoutS: '',
};
const edited = (changes: object, dropsKey = false) =>
  changesOf({ base: { model, settings: external }, typed: { ...typed, ...changes }, dropsKey });

describe('what an edited model changes', () => {
  it('is nothing, if nothing was edited', () => {
    expect(edited({})).toEqual({});
  });

  it('is only what differs', () => {
    expect(edited({ urls: 'http://c, http://b/v1', contextTokens: '200', healthPath: '/up' })).toEqual({
      urls: ['http://c', 'http://b/v1'],
      contextTokens: 200,
      healthPath: '/up',
    });
  });

  it('removes what was emptied, but keeps the key unless told to remove it', () => {
    expect(edited({ upstreamModel: '', upstreamKey: '' })).toEqual({ upstreamModel: null });
    expect(edited({}, true)).toEqual({ upstreamKey: null });
    expect(edited({ upstreamKey: 'sk-new' })).toEqual({ upstreamKey: 'sk-new' });
  });

  it('leaves a number that was emptied to be refused, and does not make it 0', () => {
    expect(edited({ contextTokens: '' })).toEqual({ contextTokens: null });
  });

  it('leaves a number that is not written in digits to be refused', () => {
    expect(edited({ contextTokens: '1e3' })).toEqual({ contextTokens: Number.NaN });
  });

  it('includes the times of a command that sleeps', () => {
    const settings = { ...external, urls: null, startTimeoutS: 30 };
    const sleeping = { contextTokens: 100, sleepAfterS: 600 };
    const change = (changes: object) =>
      changesOf({
        base: { model: sleeping, settings },
        typed: { ...typed, urls: '', ...changes },
        dropsKey: false,
      });
    expect(change({ sleepAfterS: '60', startTimeoutS: '' })).toEqual({
      sleepAfterS: 60,
      startTimeoutS: null,
    });
    expect(change({ sleepAfterS: '600', startTimeoutS: '30' })).toEqual({});
  });
});
