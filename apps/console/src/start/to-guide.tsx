import { Link } from '../ui/link.tsx';

/** Leads owners to the guide, from where something does not exist yet. */
export function ToGuide({ org }: { org: string }) {
  return (
    <Link href={`/o/${org}/start`} className="inline-link">
      follow the first steps
    </Link>
  );
}
