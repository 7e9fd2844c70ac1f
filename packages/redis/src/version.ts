/** The first version that can read a stream from the entry after a given one. */
const OLDEST = { major: 6, minor: 2 };

/** What is wrong with the version in a server's INFO. Null: nothing, or it does not say. */
export function redisTooOld(info: string): string | null {
  const [, version, major, minor] = /^redis_version:((\d+)\.(\d+)\S*)/m.exec(info) ?? [];
  if (version === undefined) return null;
  if (Number(major) > OLDEST.major || (Number(major) === OLDEST.major && Number(minor) >= OLDEST.minor))
    return null;
  return `Redis ${version} is too old: Tidegate needs version ${OLDEST.major}.${OLDEST.minor} or newer`;
}
