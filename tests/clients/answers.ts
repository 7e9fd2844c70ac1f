import { expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import type { Client, Failed, Question } from './client.ts';
import { record } from './recorder.ts';
import type { World } from './world.ts';

const TAKEN = ['messages', 'model', 'stream', 'stream_options'];

/** Tests the answers that every client must get. Call it inside a describe block. */
export function describeAnswers(
  client: Client,
  world: () => World,
  image: NonNullable<Question['image']>,
): void {
  const question = (text: string, more: Partial<Question> = {}): Question => {
    const { base, key } = world();
    return { base, key, model: 'tide', text, ...more };
  };
  const failure = async (answer: Promise<unknown>): Promise<Failed> => {
    try {
      await answer;
    } catch (error) {
      return client.failed(error);
    }
    throw new Error('it was answered');
  };

  it('gets the same answer whole and streamed, with its finish reason and its usage', async () => {
    const pieces: string[] = [];
    const whole = await client.whole(question('How deep is the sea?'));
    const streamed = await client.stream(question('How deep is the sea?'), (piece) => pieces.push(piece));
    expect(whole).toEqual({
      text: expect.stringMatching(/\w/),
      finishReason: 'stop',
      promptTokens: expect.any(Number),
      completionTokens: expect.any(Number),
    });
    expect(streamed).toEqual(whole);
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join('')).toBe(whole.text);
  });

  it('adds no field that is refused', async () => {
    const recorder = await record(world().base);
    await client.whole(question('x', { base: recorder.base }));
    await client.stream(question('x', { base: recorder.base }));
    await recorder.close();
    expect(recorder.calls).toHaveLength(2);
    for (const { members } of recorder.calls) expect(TAKEN).toEqual(expect.arrayContaining([...members]));
  });

  it('gets an answer about a picture', async () => {
    const { text } = await client.whole(question('What is this?', { model: 'eyes', image }));
    expect(text).toMatch(/PNG image of 320x200/);
  });

  it('shows status, code and message of an error that comes before a whole or a streamed answer', async () => {
    const expected = {
      status: 404,
      code: 'model_not_found',
      message: expect.stringContaining('does not exist'),
    };
    expect(await failure(client.whole(question('x', { model: 'nothing' })))).toEqual(expected);
    expect(await failure(client.stream(question('x', { model: 'nothing' })))).toEqual(expected);
    expect(await failure(client.whole(question('x', { key: 'sk-wrong' })))).toMatchObject({
      status: 401,
      code: 'invalid_api_key',
    });
  });

  it('throws when a stream breaks off, after giving what was relayed [completions.stream.incomplete]', async () => {
    const pieces: string[] = [];
    const broken = client.stream(question('[[tokens=9]] [[token-ms=20]] [[die]] [[after=5]]'), (piece) =>
      pieces.push(piece),
    );
    await expect(broken).rejects.toThrow(client.brokenOff);
    expect(pieces.length).toBeGreaterThan(1);
  });

  it('ends the work of the model and frees its slot when it gives up', async () => {
    const { narrowKey: key, standin } = world();
    const { aborted } = standin.stats();
    const abort = new AbortController();
    const given = client.stream(
      question('[[tokens=900]] [[token-ms=30]]', { key, signal: abort.signal }),
      () => abort.abort(),
    );
    // Some clients throw and others end their stream.
    await given.catch(() => {});
    await eventually(() => standin.stats().aborted === aborted + 1);
    await eventually(async () => (await client.whole(question('x', { key }))).finishReason === 'stop');
  });

  const { models } = client;
  if (models) {
    it('lists the models', async () => {
      const { base, key } = world();
      expect(await models(base, key)).toEqual(expect.arrayContaining(['tide', 'eyes', 'stopped']));
    });
  }
}
