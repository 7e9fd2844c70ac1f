import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { seal } from '@tidegate/contracts';
import { eventually, isPidAlive, testPostgres } from '@tidegate/testing';
import { Harness, type PublishedProcess } from '../../testing/harness.ts';
import { captureOutput, lastLines, secretsOf } from './process-output.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
});
afterEach(() => harness.close());

/** Returns why a command failed to start, and what the runner logged about it. */
async function failureOf(
  command: string,
  { data = {}, settings = {} } = {},
): Promise<{ reason: string; log: string }> {
  const modelId = await harness.publish({ ...data, settings: { command, ...settings } });
  const lines: string[] = [];
  const runner = await harness.start({ logTo: (line) => lines.push(line) });
  const { reason, condition } = await runner.wake(modelId);
  expect(condition).toBe('CONDITION_FAILED');
  const row = await eventually(async () => {
    const { conditionReason } = await harness.db.model.findUniqueOrThrow({ where: { id: modelId } });
    return conditionReason;
  });
  expect(row).toBe(reason);
  return { reason, log: lines.join('') };
}

describe('a process that fails to start', () => {
  it('reports the last lines that it printed, which appear in no log', async () => {
    const { reason, log } = await failureOf(
      'for i in 1 2 3 4 5 6; do echo "line $i"; done; echo "cannot open q.gguf" >&2; exit 1',
    );
    expect(reason).toBe(
      "The model's process exited with code 1 while starting.\n" +
        'line 3\nline 4\nline 5\nline 6\ncannot open q.gguf',
    );
    expect(log).toContain('exited with code 1 while starting');
    expect(log).not.toContain('line 6');
  });

  it('names the log, if one is kept, and quotes only what this start wrote to it', async () => {
    const modelId = await harness.publish({ settings: { command: 'echo out of memory; exit 3' } });
    const log = join(harness.stateDir, `${modelId}.log`);
    mkdirSync(harness.stateDir);
    writeFileSync(log, 'a prompt of an earlier run\n');
    const { reason } = await (await harness.start({ keepModelLogs: true })).wake(modelId);
    expect(reason).toBe(
      `The model's process exited with code 3 while starting. Its log is ${log}.\nout of memory`,
    );
  });

  it.each([
    ['llama-servre --port $PORT', "The model's command was not found: llama-servre (exit code 127)."],
    ['exec llama-servre', "The model's command was not found: llama-servre (exit code 127)."],
    ['cd / && X=1 no-such-thing', "The model's command was not found: no-such-thing (exit code 127)."],
    ['X=1 no-such-thing 2>/dev/null', "The model's command was not found: no-such-thing (exit code 127)."],
  ])('names a command that does not exist: %s', async (command, expected) => {
    expect((await failureOf(command)).reason.split('\n')[0]).toBe(expected);
  });

  it('names a command that cannot be executed', async () => {
    const file = join(harness.dir, 'server.sh');
    writeFileSync(file, '#!/bin/sh\n');
    chmodSync(file, 0o644);
    const { reason } = await failureOf(file);
    expect(reason.split('\n')[0]).toBe(`The model's command cannot be executed: ${file} (exit code 126).`);
  });

  it('is not called missing when only a library is missing', async () => {
    const { reason } = await failureOf(
      'echo "error while loading shared libraries: libcuda.so.1" >&2; exit 127',
    );
    expect(reason).toBe(
      "The model's process exited with code 127 while starting.\n" +
        'error while loading shared libraries: libcuda.so.1',
    );
  });

  it.each([
    ['kill -9 $$', "The model's process was ended by SIGKILL while starting."],
    ['sh -c "kill -9 \\$\\$"; exit $?', "The model's process exited with code 137 (SIGKILL) while starting."],
  ])('names the signal that ended it: %s', async (command, expected) => {
    expect((await failureOf(command)).reason.split('\n')[0]).toBe(expected);
  });

  it('shows neither its secrets nor its upstream key', async () => {
    const upstreamKey = Uint8Array.from(seal(harness.secretKey, 'sk-upstream'));
    const { reason } = await failureOf(
      'echo "using sk-upstream, $HF_TOKEN and sk-argued"; exit 1 --api-key sk-argued',
      {
        data: { upstreamKey },
      },
    );
    expect(reason.split('\n')[1]).toBe('using [hidden], [hidden] and [hidden]');
  });

  it('shows neither the old nor the new upstream key if it was changed meanwhile', async () => {
    const sealed = (key: string) => Uint8Array.from(seal(harness.secretKey, key));
    const [begun, changed] = [join(harness.dir, 'begun'), join(harness.dir, 'changed')];
    const waits = `until [ -e ${changed} ]; do sleep 0.02; done`;
    const command = `echo >${begun}; ${waits}; echo sk-before sk-after; exit 1`;
    const id = await harness.publish({ upstreamKey: sealed('sk-before'), settings: { command } });
    const runner = await harness.start();
    const woken = runner.wake(id);
    await eventually(async () => existsSync(begun));
    const data = { upstreamKey: sealed('sk-after'), version: { increment: 1 } };
    await harness.db.model.update({ where: { id }, data });
    await runner.refresh(id);
    writeFileSync(changed, '');
    expect((await woken).reason.split('\n')[1]).toBe('[hidden] [hidden]');
  });

  it('in time quotes what it printed', async () => {
    // It closes its output, so the runner sees the end of it.
    const command = 'echo loading; exec sleep 100 >/dev/null 2>&1';
    const { reason } = await failureOf(command, { settings: { startTimeoutS: 1 } });
    expect(reason).toBe('The model was not ready within 1 s (connection refused).\nloading');
  });

  it.each([
    ['and is gone', 'exec', "process.kill(process.pid, 'SIGKILL');"],
    [
      'and leaves a child that goes on serving',
      '',
      `process.kill(process.ppid, 'SIGKILL');
        setTimeout(() => response.end('{"data":0}'), 50);
        // Until it has answered, its runner waits for the end of its output.
        answered = () => { for (const fd of [1, 2]) closeSync(fd); };`,
    ],
  ])('has not started if it dies once its health path has answered, %s', async (_what, prefix, dies) => {
    const file = join(harness.dir, 'dies-when-listed.mjs');
    writeFileSync(
      file,
      `import { closeSync } from 'node:fs';
      import { createServer } from 'node:http';
      let answered = () => {};
      createServer((request, response) => {
        if (request.url !== '/v1/models') return response.end(() => answered());
        console.log('out of memory');
        ${dies}
      }).listen(process.env.PORT, '127.0.0.1');`,
    );
    const { reason } = await failureOf(`${prefix} "${process.execPath}" "${file}"; exit 1`);
    expect(reason).toBe("The model's process was ended by SIGKILL while starting.\nout of memory");
  });

  it('because it does not serve the given name says what it serves', async () => {
    const { modelId } = await harness.publishProcess(
      { how: 'serves=moon' },
      { upstreamModel: 'tide', mode: 'always_on' },
    );
    const watcher = (await harness.start()).watch('gw_1');
    await eventually(() => watcher.condition(modelId) === 'CONDITION_FAILED');
    expect(watcher.models.get(modelId)?.reason).toBe("The server does not serve 'tide'. It serves moon.");
  });
});

describe('a process that never stops printing', () => {
  /**
   * Counts what it could print. It would block on a pipe that nobody reads, and die on a broken
   * one.
   */
  const printedBy = (model: PublishedProcess) =>
    model.starts().filter(({ note }) => note === 'printed').length;
  const goesOn = async (model: PublishedProcess) => {
    const before = printedBy(model);
    await eventually(() => printedBy(model) > before + 3);
    expect(isPidAlive(model.starts()[0]?.pid ?? 0)).toBe(true);
  };

  it('keeps running once it is ready, and nothing that it prints later is quoted', async () => {
    const model = await harness.publishProcess({ how: 'chatty' });
    const runner = await harness.start();
    const watcher = runner.watch('gw_1');
    await runner.wake(model.modelId);
    await goesOn(model);
    for (const pid of new Set(model.starts().map((start) => start.pid))) process.kill(pid, 'SIGKILL');
    await eventually(() => watcher.condition(model.modelId) === 'CONDITION_ASLEEP');
    const reasons = watcher.updates.flatMap(({ models }) => models.map(({ reason }) => reason));
    expect(new Set(reasons)).toEqual(new Set(['']));
  });

  it('keeps running when its runner dies while it starts, and when another runner adopts it', async () => {
    const model = await harness.publishProcess({ how: 'chatty', delayMs: 2_000 });
    const first = await harness.start({ stopModelsOnExit: false });
    void first.wake(model.modelId).catch(() => {});
    await eventually(() => printedBy(model) > 0);
    await first.runner?.close();
    await goesOn(model);
    const second = await harness.start();
    expect(await second.wake(model.modelId)).toMatchObject({ condition: 'CONDITION_RUNNING' });
    await goesOn(model);
    await second.stopModel(model.modelId);
    await eventually(() => !isPidAlive(model.starts()[0]?.pid ?? 0));
  });
});

describe('the last lines of the output', () => {
  it('are not waited for indefinitely if a child keeps the output open', async () => {
    const stream = Object.assign(new PassThrough(), { unref: () => {} });
    const output = captureOutput(stream as unknown as Socket);
    stream.write('loading\n');
    expect(await output.tail(20)).toBe('loading\n');
  });

  it.each([
    ['of one line', 'x', ''],
    ['that overwrites its lines', '\rready', 'ready'],
  ])('never begin in the middle of a line, even in long output %s', async (_what, end, expected) => {
    const stream = Object.assign(new PassThrough(), { unref: () => {} });
    const output = captureOutput(stream as unknown as Socket);
    // The last 8 KiB hold only the end of the secret.
    stream.end(`sk-secret ${'x'.repeat(8 * 1024 - 5 - end.length)}${end}`);
    stream.on('end', () => stream.destroy());
    expect(await output.tail(60_000)).toBe(expected);
  });

  it('are few, short and in plain text', () => {
    const noise = `\u001b[1;31mred\u001b[0m\u0000 \u202etxt\r\n10%\r50%\r100%\n\n\t\n\u001b]0;title\u0007done\n`;
    expect(lastLines(noise, [])).toBe('red txt\n100%\ndone');
    const long = lastLines(`${'x'.repeat(5_000)}\n`.repeat(10), []);
    expect(long.split('\n').length).toBeLessThanOrEqual(5);
    expect(Buffer.byteLength(long)).toBeLessThanOrEqual(1_024);
    expect(Buffer.byteLength(lastLines('漢'.repeat(1_000), []))).toBeLessThanOrEqual(1_024);
  });

  it('hide secrets from environment, command and upstream keys', () => {
    const env = { HF_TOKEN: 'hf_abcdef', PATH: '/usr/bin', MY_PASSWORD: 'x' };
    const secrets = secretsOf(env, 'run --api-key "sk-12345" --tokenizer /m/t --max-tokens 4096', [
      'up-12345',
      'up-67890',
    ]);
    expect(secrets.sort()).toEqual(['hf_abcdef', 'sk-12345', 'up-12345', 'up-67890']);
  });
});
