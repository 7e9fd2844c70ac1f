import type { Condition } from '@tidegate/control';

const LOOKS: Record<Condition, { name: string; dot: string }> = {
  running: { name: 'Running', dot: 'bg-success' },
  starting: { name: 'Starting', dot: 'bg-accent animate-pulse' },
  asleep: { name: 'Asleep', dot: 'bg-muted/60' },
  stopped: { name: 'Stopped', dot: 'border border-muted' },
  failed: { name: 'Failed', dot: 'bg-danger' },
};

export function ConditionMark({ condition, reason }: { condition: Condition; reason: string | null }) {
  const { name, dot } = LOOKS[condition];
  return (
    <div>
      <span className="inline-flex items-center gap-2 whitespace-nowrap">
        <span className={`size-2 rounded-full ${dot}`} aria-hidden />
        {name}
      </span>
      {reason ? <p className="mt-0.5 max-w-72 text-xs text-muted">{reason}</p> : null}
    </div>
  );
}
