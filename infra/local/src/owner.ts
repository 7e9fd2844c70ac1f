import { statSync } from 'node:fs';

/**
 * What to do about a data folder that cannot be used, and who owns it if that is another user.
 * @param concerned the path in it that cannot be used; default: the folder itself
 */
export function ownerHint(dataDir: string, concerned: string = dataDir): string {
  const elsewhere = 'keep the data elsewhere: npm start -- --data-dir PATH';
  const own = process.getuid?.();
  const path = ownerOf(concerned) === undefined ? dataDir : concerned;
  const owner = ownerOf(path);
  if (owner === undefined || owner === own) return `Start as the user who owns the folder, or ${elsewhere}`;
  return [
    `${path} belongs to user ${owner}; this is user ${own}.`,
    `Start as that user, have root give all of it to this one (chown -R ${own} '${dataDir}'), or ${elsewhere}`,
  ].join('\n');
}

function ownerOf(path: string): number | undefined {
  try {
    return statSync(path).uid;
  } catch {
    return undefined;
  }
}
