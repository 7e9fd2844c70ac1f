import { Link } from '../ui/link.tsx';
import { PlainInput } from '../ui/plain-inputs.tsx';
import type { Choices, Named } from './choices.ts';
import { fieldTimeOf, type RequestChoice, requestQueryOf } from './filter.ts';
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

/** Plain forms: they work before any script has loaded, and their query can be kept as a link. */
export function RequestFilters({ org, path, filter, keys, models, codes }: FiltersProps) {
  const isFiltered = requestQueryOf(filter) !== '';
  return (
    <div className="mb-6 flex flex-wrap items-end gap-3">
      <form method="get" action={path} className="contents" aria-label="Filter">
        <div className="flex w-full flex-wrap gap-3">
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
        </div>
        <PlainInput
          label="From (UTC)"
          width="sm:w-52"
          name="from"
          type="datetime-local"
          defaultValue={fieldTimeOf(filter.from)}
        />
        <PlainInput
          label="Before (UTC)"
          width="sm:w-52"
          name="to"
          type="datetime-local"
          defaultValue={fieldTimeOf(filter.to, { ends: true })}
        />
        <button type="submit" className="button button--secondary">
          Filter
        </button>
        {isFiltered ? (
          <Link href={path} className="button button--ghost">
            Show all
          </Link>
        ) : null}
      </form>
      <form
        method="get"
        action={path}
        className="flex w-full items-end gap-3 sm:w-auto lg:ml-auto"
        aria-label="Find"
      >
        <PlainInput
          label="Request id"
          width="sm:w-60"
          name="id"
          defaultValue={filter.id}
          placeholder="req_… or chatcmpl-…"
          autoComplete="off"
          spellCheck={false}
          className="font-mono placeholder:overflow-visible placeholder:leading-5"
        />
        <button type="submit" className="button button--secondary">
          Find
        </button>
      </form>
    </div>
  );
}
