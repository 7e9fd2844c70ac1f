import { describe, expect, it } from '@jest/globals';
import { parseArguments } from './arguments.ts';

describe('arguments of npm start', () => {
  it('mean the defaults if there are none', () => {
    expect(parseArguments([])).toEqual({ fresh: false, demo: true, observe: false, scale: {}, ports: {} });
  });

  it('are read, --scale as often as it is given', () => {
    const args = [
      '--fresh',
      '--scale',
      'gateway=2',
      '--scale=limiter=3',
      '--gateway-port',
      '9000',
      '--no-demo',
      '--observe',
    ];
    expect(parseArguments(args)).toEqual({
      fresh: true,
      demo: false,
      observe: true,
      scale: { gateway: 2, limiter: 3 },
      ports: { gateway: 9000 },
    });
  });

  it('can ask for help', () => {
    expect(parseArguments(['--help'])).toBeNull();
  });

  it.each([
    [['--scale', 'gateway=0'], /number from 1 to 32/],
    [['--scale', 'postgres=2'], /--scale takes one of gateway/],
    [['--gateway-port', '0'], /--gateway-port must be a port/],
    [['--console-port', '99999'], /--console-port must be a port/],
    [['--freshh'], /--freshh/],
    [['extra'], /extra/],
  ])('such as %j are refused by name, with the usage', (args, message) => {
    expect(() => parseArguments(args)).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(message),
        hint: expect.stringContaining('Usage'),
      }),
    );
  });
});
