import type { Db } from '@tidegate/db';
import { parseEnvelope, symmetricDecrypt, symmetricEncrypt } from 'better-auth/crypto';
import type { Auth } from './auth.ts';

const BATCH = 200;

/**
 * Encrypts second factors under the current secret that were encrypted under the previous one, so
 * that nothing needs the previous one any more. Consoles may do this at the same time. Resolves to
 * how many it changed.
 */
export async function resealSecondFactors({ db, auth }: { db: Db; auth: Auth }): Promise<number> {
  const key = (await auth.$context).secretConfig;
  if (typeof key === 'string') return 0;
  const isCurrent = (text: string) => parseEnvelope(text)?.version === key.currentVersion;
  const reseal = async (data: string) =>
    symmetricEncrypt({ key, data: await symmetricDecrypt({ key, data }) });
  let changed = 0;
  for (let after = ''; ; ) {
    const rows = await db.twoFactor.findMany({
      where: { id: { gt: after } },
      select: { id: true, secret: true, backupCodes: true },
      orderBy: { id: 'asc' },
      take: BATCH,
    });
    for (const { id, secret, backupCodes } of rows) {
      if (isCurrent(secret) && isCurrent(backupCodes)) continue;
      const data = { secret: await reseal(secret), backupCodes: await reseal(backupCodes) };
      // Its owner may have used a code or set up another app meanwhile.
      changed += (await db.twoFactor.updateMany({ where: { id, secret, backupCodes }, data })).count;
    }
    const last = rows.at(-1);
    if (!last || rows.length < BATCH) return changed;
    after = last.id;
  }
}
