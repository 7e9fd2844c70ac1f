const MAX_LENGTH = 48;

/**
 * Makes a slug of lowercase letters, digits and single hyphens, or "org" if nothing is left of the
 * name. It never looks like an id.
 */
export function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_LENGTH)
    .replace(/^-+|-+$/g, '');
  return slug || 'org';
}

/** The nth candidate for a name: `acme`, `acme-2`, `acme-3`, ... */
export const slugCandidate = (slug: string, n: number): string => (n === 1 ? slug : `${slug}-${n}`);
