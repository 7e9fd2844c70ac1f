import { useRef, useState } from 'react';
import { listOptions } from './actions.ts';
import type { UsageChoice, UsagePeriod } from './filter.ts';
import type { Options } from './options.ts';

/**
 * The options that came with the page, which are the chosen ones; and all options of the period
 * once a user turns to them, because there may be a thousand.
 */
export function useOptions(
  org: string,
  period: UsagePeriod,
  choice: UsageChoice,
  chosen: Options,
): { readonly options: Options; readonly fetchOptions: () => void } {
  const [fetched, setFetched] = useState<{ readonly of: string; readonly options: Options } | null>(null);
  const asked = useRef('');
  const of = `${period.id} ${choice.keyId} ${choice.modelId}`;
  const fetchOptions = () => {
    if (asked.current === of) return;
    asked.current = of;
    listOptions(org, period.id, choice).then(
      (options) => options && setFetched({ of, options }),
      () => {
        asked.current = '';
      },
    );
  };
  return { options: fetched?.of === of ? fetched.options : chosen, fetchOptions };
}
