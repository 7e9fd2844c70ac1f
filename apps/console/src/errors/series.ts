import type { ErrorsView } from '@tidegate/control';
import type { Series, StackedBar } from '../ui/bars.ts';

/** As many codes as colours can be told apart. The rest are one series. */
const DRAWN_MAX = 4;
const OTHERS = 'Others';

export interface CountedSteps extends Pick<ErrorsView, 'steps'> {
  /** The most frequent first. */
  readonly codes: readonly { readonly code: string }[];
}

/** What a chart of errors over time draws: the most frequent codes, and the others together. */
export function seriesOf({ codes, steps }: CountedSteps): {
  series: Series[];
  bars: StackedBar[];
} {
  const drawn = codes.slice(0, DRAWN_MAX).map(({ code }) => code);
  const hasOthers = codes.length > drawn.length;
  const series: Series[] = drawn.map((name, i) => ({ name, color: `var(--chart-code-${i + 1})` }));
  if (hasOthers) series.push({ name: OTHERS, color: 'var(--chart-code-others)' });
  const bars = steps.map(({ at, codes: counts }) => {
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const heights = drawn.map((code) => counts[code] ?? 0);
    const others = total - heights.reduce((sum, count) => sum + count, 0);
    return { at, heights: hasOthers ? [...heights, others] : heights, total };
  });
  return { series, bars };
}
