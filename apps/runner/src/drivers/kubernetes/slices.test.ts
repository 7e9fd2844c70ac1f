import { describe, expect, it } from '@jest/globals';
import type { V1EndpointSlice } from '@kubernetes/client-node';
import { replicasOf } from './slices.ts';

const slice = (
  addresses: string[],
  { family = 'IPv4', ports = [{ name: 'http', port: 8000 }], conditions = {} } = {},
): V1EndpointSlice => ({
  addressType: family,
  ports,
  endpoints: addresses.map((address) => ({ addresses: [address], conditions })),
});
const urls = (slices: V1EndpointSlice[], port?: string) =>
  replicasOf(slices, port).replicas.map(({ baseUrl }) => baseUrl);

describe('the replicas of a Service', () => {
  it('are its endpoints, each once and in order, however many slices it has', () => {
    expect(urls([slice(['10.0.0.2', '10.0.0.1']), slice(['10.0.0.2'])])).toEqual([
      'http://10.0.0.1:8000/v1',
      'http://10.0.0.2:8000/v1',
    ]);
  });

  it('are those that are ready, or do not say, and are not ending', () => {
    const kinds = [{ ready: false }, { ready: true, terminating: true }, { ready: true }, {}];
    const slices = kinds.map((conditions, at) => slice([`10.0.0.${at}`], { conditions }));
    expect(urls(slices)).toEqual(['http://10.0.0.2:8000/v1', 'http://10.0.0.3:8000/v1']);
  });

  it('are called by IPv4 where pods have both families', () => {
    const six = slice(['fd00::1'], { family: 'IPv6' });
    expect(urls([six, slice(['10.0.0.1'])])).toEqual(['http://10.0.0.1:8000/v1']);
    expect(urls([six])).toEqual(['http://[fd00::1]:8000/v1']);
  });

  it('are at the chosen port, by name or number', () => {
    const ports = [
      { name: 'metrics', port: 9000 },
      { name: 'http', port: 8000 },
    ];
    const slices = [slice(['10.0.0.1'], { ports })];
    expect(urls(slices, 'http')).toEqual(['http://10.0.0.1:8000/v1']);
    expect(urls(slices, '9000')).toEqual(['http://10.0.0.1:9000/v1']);
    expect(replicasOf(slices, undefined).problem).toBe(
      'Its Service has several ports (metrics, http), and none is chosen.',
    );
    expect(replicasOf(slices, 'grpc').problem).toBe('Its Service has no port grpc; it has metrics, http.');
  });

  it('are bounded', () => {
    const many = Array.from({ length: 100 }, (_, at) => `10.0.0.${at}`);
    expect(urls([slice(many)])).toHaveLength(64);
  });
});
