import type { Condition } from '@tidegate/control';

const LOOKS: Record<Condition, { name: string; dot: string }> = {
  running: { name: 'Running', dot: 'bg-success' },
  starting: { name: 'Starting', dot: 'bg-accent animate-pulse' },
  asleep: { name: 'Asleep', dot: 'bg-muted/60' },
  stopped: { name: 'Stopped', dot: 'border border-muted' },
  failed: { name: 'Failed', dot: 'bg-danger' },
};

/** As tall and as wide whatever the condition, so that a change of it moves nothing. */
export function ConditionMark({ condition, reason }: { condition: Condition; reason: string | null }) {
  const { name, dot } = LOOKS[condition];
  return (
    <div className="flex min-h-14 w-48 flex-col justify-center">
      <span className="inline-flex items-center gap-2 whitespace-nowrap">
        <span className={`size-2 rounded-full ${dot}`} aria-hidden />
        {name}
      </span>
      {reason ? (
        <p className="mt-0.5 line-clamp-2 text-xs leading-4 text-muted" title={reason}>
          {reason}
        </p>
      ) : null}
    </div>
  );
}
