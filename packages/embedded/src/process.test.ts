import { describe, expect, it } from '@jest/globals';
import { itOnLinux, withoutDescriptors } from '@tidegate/testing';
import { runStep, ServerProcess } from './process.ts';

const TRUE = { command: 'true', args: [], options: {} };
const onLinux = itOnLinux(it);

describe('a program that the system refuses to start', () => {
  onLinux('counts as a server that ended, with the reason', async () => {
    const server = await withoutDescriptors(() => new ServerProcess(TRUE));
    await server.exited;
    expect(server.tail).toEqual(['spawn true EMFILE']);
  });

  onLinux('fails its step with the reason', async () => {
    const failure = await withoutDescriptors(() =>
      runStep('Postgres could not be set up', TRUE).catch((error) => error),
    );
    expect(failure).toMatchObject({ message: 'Postgres could not be set up: spawn true EMFILE' });
  });
});
