import type { UsageView } from '@tidegate/control';
import { compact, duration, share, spread, whole } from '../ui/numbers.ts';

/** The contract's totals, and how long streams take to begin. */
export function Totals({ totals }: Pick<UsageView, 'totals'>) {
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-[0.875rem] border border-border bg-border md:grid-cols-4 xl:grid-cols-[1fr_1fr_1.7fr_1.2fr_1.2fr]">
      <Total name="Requests" value={whole(totals.requests)} />
      <Total name="Errors" value={whole(totals.errors)} note={share(totals.errors, totals.requests)} />
      <Total
        name="Tokens"
        value={`${compact(totals.promptTokens)} in · ${compact(totals.completionTokens)} out`}
        title={`${whole(totals.promptTokens)} in, ${whole(totals.completionTokens)} out`}
        note={
          totals.reservedTokens > 0
            ? `and ${compact(totals.reservedTokens)} reserved or unreported`
            : undefined
        }
      />
      <Total
        name="Average time"
        value={duration(totals.averageMs)}
        note={spread(totals.p50Ms, totals.p95Ms)}
      />
      <Total
        name="First chunk"
        value={duration(totals.firstChunkP50Ms)}
        note={spread(totals.firstChunkP50Ms, totals.firstChunkP95Ms)}
      />
    </dl>
  );
}

function Total({
  name,
  value,
  note,
  title,
}: {
  name: string;
  value: string;
  note?: string | undefined;
  title?: string;
}) {
  return (
    <div className="bg-surface px-5 py-4 max-md:last:col-span-2 md:max-xl:nth-[n+3]:col-span-2">
      <dt className="text-[0.8125rem] text-muted">{name}</dt>
      <dd
        className="mt-1 text-xl font-semibold tracking-[-0.02em] tabular-nums max-sm:wrap-anywhere"
        title={title}
      >
        {value}
      </dd>
      <dd className="mt-1 min-h-8 text-xs leading-4 text-muted md:max-xl:min-h-4 2xl:min-h-4">{note}</dd>
    </div>
  );
}
