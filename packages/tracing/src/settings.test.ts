import { describe, expect, it } from '@jest/globals';
import { ConfigError, loadConfig } from '@tidegate/runtime';
import { z } from 'zod';
import { tracingFields, tracingOf } from './settings.ts';

const read = (env: Record<string, string>) => tracingOf(loadConfig(z.object(tracingFields), env));
const reasonOf = (env: Record<string, string>): string => {
  try {
    read(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
  }
  throw new Error('it was taken');
};
const at = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' };

describe('the settings of tracing', () => {
  it('are null without an endpoint, or when a standard variable turns tracing off', () => {
    expect(read({ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'always_on' })).toBeNull();
    expect(read({ ...at, OTEL_SDK_DISABLED: 'true' })).toBeNull();
    expect(read({ ...at, OTEL_TRACES_EXPORTER: 'none' })).toBeNull();
  });

  it('have the defaults of the standard', () => {
    expect(read(at)).toEqual({
      url: 'http://collector:4318/v1/traces',
      protocol: 'http/protobuf',
      headers: {},
      timeoutMs: 10_000,
      serviceName: null,
      resource: {},
      sampler: 'parentbased_always_on',
      ratio: 1,
      queue: { maxSpans: 2_048, maxBatch: 512, everyMs: 5_000 },
    });
  });

  it('prefer what is set for traces to what is set for all signals', () => {
    const settings = read({
      ...at,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/in',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=Bearer%20x,b=2',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
    });
    expect(settings).toMatchObject({
      url: 'https://traces.example/in',
      protocol: 'http/json',
      headers: { authorization: 'Bearer x', b: '2' },
      resource: { 'deployment.environment.name': 'test' },
      ratio: 0.01,
    });
  });

  it('combine the headers for all signals with those for traces, as the exporter does', () => {
    const settings = read({
      ...at,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=all,tenant=tide',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=traces',
    });
    expect(settings?.headers).toEqual({ authorization: 'traces', tenant: 'tide' });
  });

  it.each([
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', /http\/protobuf, http\/json.*4318/],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', /http:\/\//],
    ['OTEL_TRACES_SAMPLER', 'sometimes', /parentbased_traceidratio/],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5', /from 0 to 1/],
    ['OTEL_TRACES_EXPORTER', 'zipkin', /otlp or none/],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a secret', /name=value/],
  ])('refuse any other %s, and say what is allowed but not what was given', (variable, value, allowed) => {
    const reason = reasonOf({ ...at, [variable]: value });
    expect(reason).toContain(`${variable}: `);
    expect(reason).toMatch(allowed);
    expect(reason).not.toContain(`"${value}"`);
  });

  it('refuse a ratio that no sampler would use', () => {
    expect(reasonOf({ ...at, OTEL_TRACES_SAMPLER_ARG: '0.1' })).toMatch(/OTEL_TRACES_SAMPLER_ARG: is set/);
  });
});
