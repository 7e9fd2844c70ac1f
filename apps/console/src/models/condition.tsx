import type { Condition } from '@tidegate/control';

const LOOKS: Record<Condition, { name: string; dot: string }> = {
  running: { name: 'Running', dot: 'bg-success' },
  starting: { name: 'Starting', dot: 'bg-accent animate-pulse' },
  asleep: { name: 'Asleep', dot: 'bg-muted/60' },
  stopped: { name: 'Stopped', dot: 'border border-muted' },
  failed: { name: 'Failed', dot: 'bg-danger' },
};

/**
 * As tall and as wide whatever the condition, so that a change of it moves nothing. A reason is a line, and below it what the
 * model's process printed; it opens to show all of itself.
 */
export function ConditionMark({ condition, reason }: { condition: Condition; reason: string | null }) {
  const { name, dot } = LOOKS[condition];
  const [why, ...printed] = (reason ?? '').split('\n');
  return (
    <div className="flex min-h-14 w-48 flex-col justify-center">
      <span className="inline-flex items-center gap-2 whitespace-nowrap">
        <span className={`size-2 rounded-full ${dot}`} aria-hidden />
        {name}
      </span>
      {reason ? (
        <details className="group mt-0.5 text-xs leading-4 text-muted">
          <summary className="line-clamp-2 cursor-pointer break-words group-open:line-clamp-none">
            {why}
          </summary>
          {printed.length > 0 ? (
            <pre className="mt-1 whitespace-pre-wrap break-words font-mono">{printed.join('\n')}</pre>
          ) : null}
        </details>
      ) : null}
    </div>
  );
}
