import type { ErrorsView } from '@tidegate/control';
import { StackedChart } from '../ui/stacked-chart.tsx';
import { type CountedSteps, seriesOf } from './series.ts';

interface ErrorsChartProps {
  readonly errors: CountedSteps & Pick<ErrorsView, 'step'>;
  /** The caption of the table. */
  readonly caption: string;
}

/** Counts by code over time. */
export function ErrorsChart({ errors, caption }: ErrorsChartProps) {
  return <StackedChart caption={caption} isHours={errors.step === 'hour'} {...seriesOf(errors)} />;
}
