import { Link } from '../ui/link.tsx';
import type { Choices, Named } from './choices.ts';
import { queryOf, type RequestChoice } from './filter.ts';
import { Pick } from './pick.tsx';

interface FiltersProps {
  readonly org: string;
  readonly path: string;
  readonly filter: RequestChoice;
  readonly keys: Choices;
  readonly models: Choices;
  /** Error codes, with their status if they have one. */
  readonly codes: readonly Named[];
}

const LABEL = 'block text-xs text-muted';
const INPUT = 'input mt-1 w-full';

/** Plain forms: they work before any script has loaded, and their query can be kept as a link. */
export function Filters({ org, path, filter, keys, models, codes }: FiltersProps) {
  const isFiltered = queryOf(filter) !== '';
  return (
    <div className="mb-6 space-y-3">
      <form method="get" action={path} className="flex flex-wrap items-end gap-3" aria-label="Filter">
        <Pick label="Key" name="key" value={filter.key} all="All keys" org={org} {...keys} />
        <Pick label="Model" name="model" value={filter.model} all="All models" org={org} {...models} />
        <Pick
          label="Result"
          name="outcome"
          value={filter.outcome}
          all="All results"
          options={[
            { id: 'answered', name: 'Answered (200)' },
            { id: 'errors', name: 'All errors' },
            ...codes,
          ]}
        />
        <label className={`${LABEL} w-52`}>
          From (UTC)
          <input name="from" type="datetime-local" defaultValue={minuteOf(filter.from)} className={INPUT} />
        </label>
        <label className={`${LABEL} w-52`}>
          Before (UTC)
          <input name="to" type="datetime-local" defaultValue={minuteOf(filter.to)} className={INPUT} />
        </label>
        <button type="submit" className="button button--secondary">
          Filter
        </button>
        {isFiltered ? (
          <Link href={path} className="button button--ghost">
            Show all
          </Link>
        ) : null}
      </form>
      <form method="get" action={path} className="flex flex-wrap items-end gap-3" aria-label="Find">
        <label className={`${LABEL} w-full sm:w-92`}>
          Request id
          <input
            name="id"
            defaultValue={filter.id}
            placeholder="req_… or chatcmpl-…"
            autoComplete="off"
            spellCheck={false}
            className={`${INPUT} font-mono`}
          />
        </label>
        <button type="submit" className="button button--secondary">
          Find
        </button>
      </form>
    </div>
  );
}

/** What a browser's field takes. A day begins at midnight. */
const minuteOf = (time: string): string => (time.length === 10 ? `${time}T00:00` : time.slice(0, 16));
