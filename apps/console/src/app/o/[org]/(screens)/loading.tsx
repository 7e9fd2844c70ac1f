import { Skeleton } from '@heroui/react';

export default function Loading() {
  return (
    <div role="status" aria-label="Loading">
      <h1 className="sr-only">Loading</h1>
      <Skeleton className="h-8 w-40 rounded-lg" />
      <Skeleton className="mt-3 h-5 w-96 max-w-full rounded-lg" />
      <Skeleton className="mt-8 h-96 w-full rounded-2xl" />
    </div>
  );
}
