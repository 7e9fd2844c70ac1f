import { usePathname, useRouter } from 'next/navigation';
import { Choice } from '../ui/field.tsx';
import { Link } from '../ui/link.tsx';
import { PERIODS, type UsageChoice, type UsagePeriod, usageQueryOf } from './filter.ts';
import type { Options } from './options.ts';
import { useOptions } from './use-options.ts';

interface FiltersProps extends UsageChoice {
  readonly org: string;
  /** What is chosen. */
  readonly options: Options;
  readonly period: UsagePeriod;
}

/**
 * What to show usage of, and for how long. The choice is in the address, so it can be kept as a
 * link.
 */
export function UsageFilters({ org, options: chosen, period, keyId, modelId }: FiltersProps) {
  const router = useRouter();
  const pathname = usePathname();
  const { options, fetchOptions } = useOptions(org, period, { keyId, modelId }, chosen);
  const show = (choice: UsageChoice) => {
    if (choice.keyId === keyId && choice.modelId === modelId) return;
    router.replace(`${pathname}${usageQueryOf(choice, period)}`, { scroll: false });
  };
  return (
    <div className="flex flex-wrap gap-3">
      <Choice
        label="Key"
        hideLabel
        options={options.keys}
        value={keyId}
        onChange={(key) => show({ keyId: key, modelId })}
        onUse={fetchOptions}
        className="w-full sm:w-auto sm:max-w-60 sm:min-w-44 sm:flex-1"
      />
      <Choice
        label="Model"
        hideLabel
        options={options.models}
        value={modelId}
        onChange={(model) => show({ keyId, modelId: model })}
        onUse={fetchOptions}
        className="w-full sm:w-auto sm:max-w-60 sm:min-w-44 sm:flex-1"
      />
      <nav aria-label="Period" className="flex gap-1">
        {PERIODS.map((each) => (
          <Link
            key={each.id}
            href={`${pathname}${usageQueryOf({ keyId, modelId }, each)}`}
            replace
            scroll={false}
            aria-current={each.id === period.id ? 'true' : undefined}
            className={`button ${each.id === period.id ? 'button--secondary' : 'button--ghost'}`}
          >
            {each.name}
          </Link>
        ))}
      </nav>
    </div>
  );
}
