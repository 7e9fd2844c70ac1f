'use client';

import { useEffect, useRef, useState } from 'react';
import { findables } from './actions.ts';
import type { Findable } from './find.ts';
import type { Screen } from './screens.ts';

export interface Findables {
  readonly all: readonly Findable[];
  readonly state: 'loading' | 'failed' | 'ready';
}

/** Screens are known immediately. The others are read when the palette opens. */
export function useFindables(org: string, screens: readonly Screen[]): Findables {
  const [read, setRead] = useState<readonly Findable[] | 'loading' | 'failed'>('loading');
  const open = useRef(true);
  useEffect(() => {
    open.current = true;
    findables(org).then(
      (result) => open.current && setRead(result.ok ? result.value : 'failed'),
      () => open.current && setRead('failed'),
    );
    return () => {
      open.current = false;
    };
  }, [org]);
  const own = screens.map(
    ({ path, name }): Findable => ({ group: 'Screens', id: path, name, href: `/o/${org}/${path}` }),
  );
  const account: Findable = { group: 'Screens', id: 'account', name: 'Account', href: '/account' };
  return {
    all: [...own, account, ...(typeof read === 'string' ? [] : read)],
    state: typeof read === 'string' ? read : 'ready',
  };
}
