import { describe, expect, it } from '@jest/globals';
import { Peers, type PeersOptions } from './peers.ts';

let nowMs = 0;
const create = (change: Partial<PeersOptions>) =>
  new Peers({ addresses: ['limiter:7100'], random: () => 0, nowMs: () => nowMs, ...change });
const ranked = (peers: Peers) => peers.ranked().map(({ address }) => address);
const ips = (count: number) => Array.from({ length: count }, (_, i) => `10.0.0.${i + 1}`);

describe('peers', () => {
  it('of a host name are all of its addresses, whose certificates name the host', async () => {
    const peers = create({ resolve: async () => ['10.0.0.1', 'fd00::1'] });
    expect(peers.ranked()).toEqual([]);
    await peers.refresh();
    expect(peers.ranked()).toEqual([
      { address: '10.0.0.1:7100', serverName: 'limiter' },
      { address: '[fd00::1]:7100', serverName: 'limiter' },
    ]);
  });

  it.each(['127.0.0.1:7100', '[::1]:7100', 'ipv4:10.0.0.1:1,10.0.0.2:2', 'dns://10.0.0.53/limiter:7100'])(
    'at %s are known without a look-up',
    async (address) => {
      const resolve = () => Promise.reject(new Error('looked up'));
      const peers = create({ addresses: [address], resolve });
      await peers.refresh();
      expect(peers.ranked()).toEqual([{ address, serverName: null }]);
    },
  );

  it("in gRPC's form for DNS are looked up like others", async () => {
    const peers = create({ addresses: ['dns:///limiter:7100'], resolve: async () => ['10.0.0.1'] });
    await peers.refresh();
    expect(ranked(peers)).toEqual(['10.0.0.1:7100']);
  });

  it('are kept when a later look-up fails or finds nothing', async () => {
    const answers = [
      async () => ['10.0.0.1'],
      async () => Promise.reject(new Error('SERVFAIL')),
      async () => [],
    ];
    const peers = create({ resolve: () => (answers.shift() as () => Promise<string[]>)() });
    for (let i = 0; i < 3; i++) {
      await peers.refresh();
      expect(ranked(peers)).toEqual(['10.0.0.1:7100']);
    }
  });

  it('are looked up once at a time, and not again before the given age', async () => {
    let lookups = 0;
    let answer = (_ips: string[]) => {};
    const resolve = () => {
      lookups++;
      return new Promise<string[]>((resolve) => {
        answer = resolve;
      });
    };
    const peers = create({ resolve });
    const both = [peers.refresh(), peers.refresh()];
    answer(['10.0.0.1']);
    await Promise.all(both);
    expect(lookups).toBe(1);
    await peers.refresh(1_000);
    expect(lookups).toBe(1);
    nowMs += 1_000;
    void peers.refresh(1_000);
    expect(lookups).toBe(2);
    answer([]);
  });

  it('that are known are available immediately, even while a look-up runs', async () => {
    let answer = (_ips: string[]) => {};
    const later = new Promise<string[]>((resolve) => {
      answer = resolve;
    });
    const answers = [Promise.resolve(['10.0.0.1']), later];
    const peers = create({ resolve: () => answers.shift() as Promise<string[]> });
    await peers.refresh();
    const ended: string[] = [];
    const lookUp = peers.refresh().then(() => ended.push('look-up'));
    await peers.refresh(1_000).then(() => ended.push('immediately'));
    expect(ended).toEqual(['immediately']);
    answer([]);
    await lookUp;
  });

  it('are preferred evenly by many processes, and a new peer takes over only its own share', async () => {
    let seed = 1;
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    let count = 3;
    const processes = Array.from({ length: 400 }, () => create({ random, resolve: async () => ips(count) }));
    const first = async () => {
      await Promise.all(processes.map((peers) => peers.refresh()));
      return processes.map((peers) => ranked(peers)[0] as string);
    };
    const before = await first();
    count = 4;
    const after = await first();
    for (const ip of ips(4)) {
      const share = after.filter((address) => address === `${ip}:7100`).length;
      expect(share).toBeGreaterThan(70);
    }
    const moved = after.filter((address, i) => address !== before[i]);
    expect(new Set(moved)).toEqual(new Set(['10.0.0.4:7100']));
  });

  it('that fail come last, for longer the more often they have failed, until they work', async () => {
    const [one, two] = ['10.0.0.1:1', '10.0.0.2:1'];
    const peers = create({ addresses: [one, two] });
    const peer = peers.ranked()[0] as { address: string; serverName: null };
    peers.failed(peer);
    expect(ranked(peers)).toEqual([two, one]);
    nowMs += 10_000;
    expect(ranked(peers)).toEqual([one, two]);
    peers.failed(peer);
    nowMs += 10_000;
    expect(ranked(peers)).toEqual([two, one]);
    for (let i = 0; i < 20; i++) peers.failed(peer);
    nowMs += 300_000;
    expect(ranked(peers)).toEqual([one, two]);
    peers.failed(peer);
    peers.worked(peer);
    expect(ranked(peers)).toEqual([one, two]);
    peers.leaving(peer);
    expect(ranked(peers)).toEqual([two, one]);
  });
});
