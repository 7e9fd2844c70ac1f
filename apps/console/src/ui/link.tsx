'use client';

import NextLink from 'next/link';
import { type ComponentProps, useState } from 'react';

/**
 * A link to another page of the console. Once the pointer, a finger or the focus is on it, the
 * page's loading state is fetched, so that a click shows it immediately. The framework alone would
 * do so for every visible link, which is more work for the console than the page itself.
 */
export function Link(props: Omit<ComponentProps<typeof NextLink>, 'prefetch'>) {
  const [isNear, setNear] = useState(false);
  const approach = () => setNear(true);
  return (
    <NextLink
      {...props}
      prefetch={isNear ? null : false}
      onFocus={approach}
      onMouseEnter={approach}
      onTouchStart={approach}
    />
  );
}
