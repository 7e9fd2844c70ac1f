import { statSync } from 'node:fs';

/** What to do about a folder that may not be used, and whose it is when it is somebody else's. */
export function ownerHint(folder: string): string {
  const own = process.getuid?.();
  const owner = ownerOf(folder);
  const whose =
    owner === undefined || owner === own ? '' : `It belongs to user ${owner}; this is user ${own}. `;
  return `${whose}Start as the user whose folder it is, or keep the data elsewhere: npm start -- --data-dir PATH`;
}

function ownerOf(path: string): number | undefined {
  try {
    return statSync(path).uid;
  } catch {
    return undefined;
  }
}
