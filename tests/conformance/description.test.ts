import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { ERRORS } from '@tidegate/contracts';
import { LIMITS } from '@tidegate/limits';
import { DESCRIPTION_URL } from '@tidegate/testing';
import { description, problemWith, REQUEST, ruleOf } from '../support/conformance/description.ts';

const { components } = description;

describe("docs/openapi.yaml, the API's description", () => {
  it('is valid OpenAPI 3.1, examples included', async () => {
    const config = await createConfig({
      extends: ['recommended-strict'],
      rules: {
        // The linter's check for additional properties does not know those that a schema declares
        // beside an `if`.
        'no-invalid-media-type-examples': { severity: 'error', allowAdditionalProperties: true },
      },
    });
    const source = readFileSync(DESCRIPTION_URL, 'utf8');
    const problems = await lintFromString({ source, absoluteRef: DESCRIPTION_URL.pathname, config });
    expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
  });

  it('has the errors of the catalogue and no others', () => {
    const described = Object.entries(components['x-errors']);
    expect(described.map(([code, { status, type }]) => [code, { status, type }])).toEqual(
      Object.entries(ERRORS),
    );
  });

  it('has each error under its status, with its type, where it can occur [error.envelope]', () => {
    for (const [code, { status, type }] of Object.entries(ERRORS)) {
      const [schema = ''] = Object.values(ruleOf('POST', '/v1/chat/completions', status)?.content ?? {});
      const body = (of: string) => ({ error: { message: 'Why.', type: of, code } });
      expect([code, problemWith(schema, body(type))]).toEqual([code, null]);
      expect([code, problemWith(schema, body('another_error'))]).not.toEqual([code, null]);
      expect([code, problemWith(schema, { ...body(type), more: 1 })]).not.toEqual([code, null]);
    }
  });

  it('asks for Retry-After, Allow and the like wherever they are due', () => {
    for (const { status, retryAfter } of Object.values(components['x-errors'])) {
      const headers = ruleOf('POST', '/v1/chat/completions', status)?.headers ?? {};
      if (retryAfter) expect(Object.keys(headers)).toContain('retry-after');
      expect(headers['x-request-id']?.required).toBe(true);
    }
    expect(ruleOf('GET', '/v1/models', 405)?.headers.allow?.required).toBe(true);
    expect(ruleOf('GET', '/v1/models', 401)?.headers['www-authenticate']?.required).toBe(true);
  });

  it('has the bounds of the service', () => {
    const field = (name: string) => components.schemas.ChatCompletionRequest?.properties?.[name];
    const tokens = { minimum: LIMITS.minMaxTokens, maximum: LIMITS.maxMaxTokens };
    expect(field('max_tokens')).toMatchObject({ ...tokens, default: LIMITS.defaultMaxTokens });
    expect(field('max_completion_tokens')).toMatchObject(tokens);
    expect(field('messages')).toMatchObject({ minItems: LIMITS.minMessages, maxItems: LIMITS.maxMessages });
    expect(field('temperature')).toMatchObject({
      minimum: LIMITS.minTemperature,
      maximum: LIMITS.maxTemperature,
      default: LIMITS.defaultTemperature,
    });
    expect(field('top_p')).toMatchObject({ exclusiveMinimum: LIMITS.minTopP, maximum: LIMITS.maxTopP });
    expect(field('n')).toMatchObject({ minimum: LIMITS.choices, maximum: LIMITS.choices });
    expect(JSON.stringify(field('stop'))).toContain(`"maxItems":${LIMITS.maxStops}`);
    expect(components.schemas.Stop).toMatchObject({
      minLength: LIMITS.minStopCharacters,
      maxLength: LIMITS.maxStopCharacters,
    });
    expect(components.schemas.ImageLink).toMatchObject({ maxLength: LIMITS.imageLinkMaxCharacters });
  });

  it('takes null for every member that is not required, and for no other', () => {
    const least = { model: 'tide', messages: [{ role: 'user', content: 'Hi' }] };
    const { properties = {} } = components.schemas.ChatCompletionRequest ?? {};
    for (const name of [...Object.keys(properties), 'tools']) {
      const problem = problemWith(REQUEST, { ...least, [name]: null });
      expect([name, problem === null]).toEqual([name, !(name in least)]);
    }
  });
});
