import { createServer } from 'node:net';
import { expect, it } from '@jest/globals';
import { claimPort } from './ports.ts';

it('proposes another port that exists, even for one of the last', async () => {
  const holder = createServer();
  const taken = 65_533;
  await new Promise<void>((resolve) => holder.listen(taken, '127.0.0.1', resolve));
  try {
    const refused = claimPort(taken, 'the gateway', '--gateway-port');
    await expect(refused).rejects.toMatchObject({ hint: expect.stringContaining('--gateway-port 65523') });
  } finally {
    holder.close();
  }
});
