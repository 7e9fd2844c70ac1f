import { expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { hello, startHarness } from '../testing/harness.ts';

const MIB = 1024 * 1024;

it('a body of undeclared length takes, once it is there, only the memory it needs', async () => {
  let finish: () => void = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const harness = await startHarness({
    upstream: async (_request, reply) => {
      await finished;
      await reply.event({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] });
      await reply.done();
    },
    env: { MAX_BUFFERED_BODY_BYTES: String(3 * MIB) },
  });
  try {
    const answers = [];
    for (let sent = 1; sent <= 5; sent++) {
      const body = new Blob([JSON.stringify({ ...hello, stream: true })]).stream();
      const headers = { authorization: `Bearer ${harness.apiKey}` };
      answers.push(
        fetch(`${harness.url}/chat/completions`, {
          method: 'POST',
          headers,
          body,
          duplex: 'half',
        } as RequestInit),
      );
      await eventually(() => harness.limiterServer.of('admit').length === sent, { timeoutMs: 3_000 });
    }
    finish();
    for (const answer of answers) expect((await answer).status).toBe(200);
  } finally {
    finish();
    await harness.stop();
  }
});
