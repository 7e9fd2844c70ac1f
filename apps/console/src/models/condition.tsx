import type { Condition, ListedModelView } from '@tidegate/control';

const LOOKS: Record<Condition, { name: string; dot: string }> = {
  running: { name: 'Running', dot: 'bg-success' },
  starting: { name: 'Starting', dot: 'bg-accent animate-pulse' },
  asleep: { name: 'Asleep', dot: 'bg-muted/60' },
  stopped: { name: 'Stopped', dot: 'border border-muted' },
  failed: { name: 'Failed', dot: 'bg-danger' },
};

export const conditionName = (condition: Condition): string => LOOKS[condition].name;

/**
 * A dot in the condition's colour, and its name. `still`: the condition is over, so the dot does
 * not pulse.
 */
export function ConditionDot({
  condition,
  replicas = null,
  still = false,
}: {
  condition: Condition;
  replicas?: ListedModelView['replicas'];
  still?: boolean;
}) {
  const { name, dot } = LOOKS[condition];
  return (
    <span className="inline-flex items-center gap-2 whitespace-nowrap">
      <span
        className={`size-2 rounded-full ${still ? dot.replace(' animate-pulse', '') : dot}`}
        aria-hidden
      />
      {name}
      {replicas ? (
        <span className={replicas.up < replicas.total ? 'font-medium text-foreground' : 'text-muted'}>
          {replicas.up} of {replicas.total} up
        </span>
      ) : null}
    </span>
  );
}

/**
 * Has the same width for every condition, and the same height for every reason of up to two lines,
 * or one on a card. So a change of condition seldom moves the page. The first line of a reason is
 * always visible. The other lines are what the model's process printed, and open on a click.
 */
export function ConditionMark({
  condition,
  reason,
  replicas,
}: {
  condition: Condition;
  reason: string | null;
  replicas: ListedModelView['replicas'];
}) {
  const [why, ...printed] = (reason ?? '').trimEnd().split('\n');
  return (
    <div className="flex min-h-14 w-48 flex-col justify-center @max-4xl:min-h-9.5 @max-4xl:w-auto @max-4xl:justify-start">
      <ConditionDot condition={condition} replicas={replicas} />
      {why ? (
        <div className="mt-0.5 text-xs leading-4 break-words text-muted">
          {why}
          {printed.length > 0 ? (
            <details className="mt-1">
              <summary className="cursor-pointer font-medium text-accent">Show the last lines</summary>
              <pre className="mt-1 whitespace-pre-wrap break-words font-mono">{printed.join('\n')}</pre>
            </details>
          ) : null}
        </div>
      ) : null}
    </div>
  );
}
