import type { Db } from '@tidegate/db';
import { parseEnvelope, symmetricDecrypt, symmetricEncrypt } from 'better-auth/crypto';
import type { Auth } from './auth.ts';

const BATCH = 200;

interface Resealed {
  readonly resealed: number;
  readonly unreadable: number;
}

/**
 * Encrypts again, under the current secret, the second factors that the previous one encrypted, so
 * that nothing needs it any more. Several consoles may do this at the same time. When the signal
 * aborts, this finishes the one in progress and rejects. The next start continues. `unreadable`:
 * those that neither secret opens. Their owners need `ctl member reset-two-factor`.
 */
export async function resealSecondFactors(
  { db, auth }: { db: Db; auth: Auth },
  signal: AbortSignal,
): Promise<Resealed> {
  const key = (await auth.$context).secretConfig;
  if (typeof key === 'string') return { resealed: 0, unreadable: 0 };
  const isCurrent = (text: string) => parseEnvelope(text)?.version === key.currentVersion;
  const reseal = async (data: string): Promise<string | null> => {
    const text = await symmetricDecrypt({ key, data }).catch(() => null);
    return text === null ? null : symmetricEncrypt({ key, data: text });
  };
  let [resealed, unreadable] = [0, 0];
  for (let after = ''; ; ) {
    const rows = await db.twoFactor.findMany({
      where: { id: { gt: after } },
      select: { id: true, secret: true, backupCodes: true },
      orderBy: { id: 'asc' },
      take: BATCH,
    });
    for (const { id, secret, backupCodes } of rows) {
      signal.throwIfAborted();
      if (isCurrent(secret) && isCurrent(backupCodes)) continue;
      const [newSecret, newCodes] = await Promise.all([reseal(secret), reseal(backupCodes)]);
      if (newSecret === null || newCodes === null) {
        unreadable++;
        continue;
      }
      const data = { secret: newSecret, backupCodes: newCodes };
      // Its owner may have used a code or set up another app meanwhile.
      resealed += (await db.twoFactor.updateMany({ where: { id, secret, backupCodes }, data })).count;
    }
    const last = rows.at(-1);
    if (!last || rows.length < BATCH) return { resealed, unreadable };
    after = last.id;
  }
}
