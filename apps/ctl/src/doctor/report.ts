/** What one look found. */
export interface Finding {
  readonly check: string;
  readonly ok: boolean;
  /** It is no fault, but somebody may want to do something. */
  readonly warning?: true;
  /** What is there, in a sentence. */
  readonly found: string;
  /** What to do about it. */
  readonly todo?: string;
}

export interface DoctorReport {
  readonly healthy: boolean;
  readonly findings: readonly Finding[];
}

export const fine = (check: string, found: string): Finding => ({ check, ok: true, found });
export const wrong = (check: string, found: string, todo: string): Finding => ({
  check,
  ok: false,
  found,
  todo,
});

export const warn = (check: string, found: string, todo: string): Finding => ({
  check,
  ok: true,
  warning: true,
  found,
  todo,
});

const MOST = 5;
/** The first few of a long list, and how many more there are. */
export const some = (all: readonly string[]): string =>
  all.length <= MOST ? all.join('; ') : `${all.slice(0, MOST).join('; ')}; and ${all.length - MOST} more`;

export const reportText = ({ findings }: DoctorReport): string =>
  findings
    .map(({ check, ok, warning, found, todo }) =>
      [
        `${ok ? (warning ? 'warn ' : 'ok   ') : 'FAIL '} ${check}: ${found}`,
        ...(todo ? [`       ${todo}`] : []),
      ].join('\n'),
    )
    .join('\n');
