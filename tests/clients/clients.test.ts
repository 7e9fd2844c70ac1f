import { readFileSync } from 'node:fs';
import { describe } from '@jest/globals';
import { watchGateways } from '../support/conformance/watch.ts';
import { aiSdk } from './ai-sdk.ts';
import { describeAnswers } from './answers.ts';
import { curl } from './curl.ts';
import { describeFields } from './fields.ts';
import { langchain } from './langchain.ts';
import { openai } from './openai.ts';
import { recorders } from './recorder.ts';
import { describeRetries } from './retries.ts';
import { useWorld } from './world.ts';

const PICTURE = {
  type: 'image/png',
  bytes: readFileSync(new URL('../fixtures/harbour.png', import.meta.url)),
};

describe('client libraries', () => {
  const world = useWorld();
  watchGateways(recorders);
  describe.each([openai, aiSdk, langchain, curl])(
    '$name, with nothing but address, key and model',
    (client) => describeAnswers(client, world, PICTURE),
  );
  describe('fields that the API does not take', () => describeFields(world));
  describe('retries:', () => describeRetries(world));
});
