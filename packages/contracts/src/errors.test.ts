import { describe, expect, it } from '@jest/globals';
import { ERRORS, errorBody, isRefusal, newRefusal } from './errors.ts';

describe('error catalogue', () => {
  // A code without a requirement of its own fails the conformance check.
  const requirements = Object.keys(ERRORS).map((code) => `[errors.${code}]`);
  it(`has the status and type of every code of the API ${requirements.join(' ')}`, () => {
    const table = Object.entries(ERRORS).map(([code, { status, type }]) => `${status} ${code} ${type}`);
    expect(table).toEqual([
      '400 invalid_json invalid_request_error',
      '400 invalid_request invalid_request_error',
      '400 unsupported_parameter invalid_request_error',
      '400 model_text_only invalid_request_error',
      '400 model_refused invalid_request_error',
      '401 invalid_api_key authentication_error',
      '403 plan_upgrade_required permission_error',
      '404 model_not_found invalid_request_error',
      '404 not_found invalid_request_error',
      '405 method_not_allowed invalid_request_error',
      '408 request_timeout invalid_request_error',
      '413 request_too_large invalid_request_error',
      '429 rate_limit_exceeded rate_limit_error',
      '429 quota_exceeded insufficient_quota',
      '500 internal_error api_error',
      '502 upstream_error api_error',
      '503 model_starting service_unavailable',
      '503 model_unavailable service_unavailable',
    ]);
  });

  it('makes bodies of exactly the three members [error.envelope]', () => {
    expect(
      errorBody(newRefusal({ code: 'model_starting', message: 'It is starting.', retryAfterS: 15 })),
    ).toEqual({
      error: { message: 'It is starting.', type: 'service_unavailable', code: 'model_starting' },
    });
  });

  it('tells refusals from all other values, even those that came from another thread', () => {
    const refusal = newRefusal({ code: 'model_starting', message: 'It is starting.' });
    for (const one of [refusal, structuredClone(refusal)]) expect(isRefusal(one)).toBe(true);
    const others = [
      null,
      undefined,
      'refused',
      Buffer.alloc(1),
      { kind: 'text' },
      { code: 'x', message: 'x' },
    ];
    for (const other of others) expect(isRefusal(other)).toBe(false);
  });
});
