/** The part of jest's `it` that is needed here. It exists only while tests run. */
interface It {
  (title: string, test: () => void): void;
  readonly skip: unknown;
}

/**
 * `it`, for tests that need something that not every machine has. Where it is missing, they are
 * reported as skipped. In CI they fail instead, because nobody would notice there that their
 * guarantees were not tested.
 */
export function itWhere<T extends It>(it: T, isGiven: boolean, need: string): T {
  if (isGiven) return it;
  if (!process.env.CI) return it.skip as T;
  const failing = (title: string): void =>
    it(title, () => {
      throw new Error(`This test needs ${need}, and CI skips none.`);
    });
  return Object.assign(failing, { each: () => failing }) as unknown as T;
}

/** `it`, for tests that need root. See `itWhere`. */
export const itAsRoot = <T extends It>(it: T): T => itWhere(it, process.getuid?.() === 0, 'root');

/** `it`, for tests that need Linux. See `itWhere`. */
export const itOnLinux = <T extends It>(it: T): T => itWhere(it, process.platform === 'linux', 'Linux');
