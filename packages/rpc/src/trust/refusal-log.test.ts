import { status } from '@grpc/grpc-js';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { logRefusals } from './refusal-log.ts';

let nowMs: number;
let lines: object[];
let refused: (details: string, peer: string) => void;

beforeEach(() => {
  nowMs = 0;
  lines = [];
  const log = logRefusals({ warn: (fields) => lines.push(fields) }, () => nowMs);
  refused = (details, peer) => log({ code: status.UNAUTHENTICATED, details }, peer);
});

describe('refused calls', () => {
  it('are logged once a minute for each peer and cause, whatever its port', () => {
    for (const peer of ['10.0.0.1:1', '10.0.0.1:2', '10.0.0.2:1', '[fd00::1]:1']) refused('no token', peer);
    refused('other cause', '10.0.0.1:3');
    nowMs = 59_999;
    refused('no token', '10.0.0.1:4');
    expect(lines).toEqual([
      { peer: '10.0.0.1', reason: 'no token' },
      { peer: '10.0.0.2', reason: 'no token' },
      { peer: '[fd00::1]', reason: 'no token' },
      { peer: '10.0.0.1', reason: 'other cause' },
    ]);
    nowMs = 60_000;
    refused('no token', '10.0.0.1:5');
    expect(lines).toHaveLength(5);
  });

  it('of very many peers fill neither memory nor the log', () => {
    for (let i = 0; i < 5_000; i++) refused('no token', `10.0.${i >> 8}.${i & 255}:1`);
    expect(lines).toHaveLength(1_000);
    nowMs = 60_000;
    refused('no token', '10.1.0.1:1');
    expect(lines).toHaveLength(1_001);
  });
});
