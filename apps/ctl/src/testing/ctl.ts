import { Readable } from 'node:stream';
import type { Variables } from '@tidegate/runtime/settings';
import { PATIENT_CALLS } from '@tidegate/testing';
import { readSecret } from '../input.ts';
import { run } from '../run.ts';

export interface Ended {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

/** The stand-ins of tests answer in this process, after all else that it does. */
const WAITS = { deadlines: PATIENT_CALLS, connectMs: 60_000, discoverMs: 60_000 };

/** Runs one command in this process, which is many times faster than in one of its own. */
export async function ctl(args: readonly string[], env: Variables, { stdin = '' } = {}): Promise<Ended> {
  let [out, err] = ['', ''];
  const io = {
    out: (text: string) => {
      out += text;
    },
    err: (text: string) => {
      err += text;
    },
    readSecret: (prompt: string) =>
      readSecret(Readable.from([stdin]), prompt, {
        write: () => {
          throw new Error('only a terminal is asked');
        },
      }),
  };
  const status = await run(args, io, env, WAITS);
  return { status, out, err };
}
