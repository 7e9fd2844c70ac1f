import { describe, expect, it } from '@jest/globals';
import type { Dispatcher } from 'undici';
import { AMPLE_MEMORY, UpstreamCall } from './upstream-call.ts';

class FaultyCall extends UpstreamCall {
  protected onBody(bytes: Buffer): void {
    if (bytes.length > 0) throw new Error('an internal fault');
  }
  protected onBodyEnd(): void {
    throw new Error('an internal fault');
  }
  protected onBroken(): void {}
  protected onTimeout(): void {}
}

const NEVER_MS = 2 ** 30;

describe('an internal fault while an answer is read', () => {
  it.each([
    ['in its middle', Buffer.from('x')],
    ['at its end', Buffer.alloc(0)],
  ])('%s ends the call immediately, as a fault, and closes its connection', async (_where, bytes) => {
    const aborts: Error[] = [];
    const controller = {
      abort: (why: Error) => aborts.push(why),
    } as unknown as Dispatcher.DispatchController;
    const call = new FaultyCall(NEVER_MS, '', AMPLE_MEMORY);
    call.onRequestStart(controller);
    call.onResponseStart(controller, 200, {});
    call.onResponseData(controller, bytes);
    if (bytes.length === 0) call.onResponseEnd();
    await expect(call.outcome).rejects.toThrow('an internal fault');
    // A connection whose answer was read to its end need not be closed.
    expect(aborts).toHaveLength(bytes.length);
  });
});
